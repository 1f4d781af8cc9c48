// A new directory comes back without its entries when a rename logged it before the directory above was fsynced
//
// re-creates: one half of what 5630f7557de6 ("btrfs: do not skip logging new dentries when logging a new name")
//             mended, fstests generic/785: the early return of log_new_dir_dentries() alone.
// caught by:  durable
// workloads:  file-rename-and-new-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. A rename of a logged file logs its directories with their new entries, and the inodes that
// these lead to, down through new directories. The way down is now left out, to save time; the directory that
// gets the name is still logged with its own new entries and their inodes.
//
// Why it loses data. A new directory beside the renamed file gets into the log, and counts as logged. The later
// fsync of the directory above finds it so, and does not log it again. Its own entries are never logged.
//
// Why it is silent otherwise. The entry of the new directory leads to its inode, so replay puts it in; sizes and
// link counts agree with an empty directory, nothing warns, fsck is content.
//
// Seen with: sync with file1 in it, `write file1`, `fsync file1`, `mkdir dir`, `creat dir/foo`, `rename file1
// file2`, `fsync .`.

@@
@@
log_new_dir_dentries(...)
{
...
+ if (ctx->logging_new_name)
+   return 0;
  path = btrfs_alloc_path();
...
}
