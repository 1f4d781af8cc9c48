// New entries of a directory are lost when a rename of a logged file has logged it before its fsync
//
// re-creates: 5630f7557de6 ("btrfs: do not skip logging new dentries when logging a new name"); fstests
//             generic/785.
// caught by:  durable
// workloads:  file-rename-and-new-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. A link or rename of a logged file logs its directories with their new entries, and the
// inodes that these lead to. The inodes are now left out, to save time, as c48792c6ee7a ("btrfs: do not log
// new dentries when logging that a new name exists") left them out.
//
// Why it loses data. A later fsync of the directory finds in the log what it would have logged, and skips
// what is there. The log holds entries without their inodes. Replay passes over an entry whose inode it
// cannot find.
//
// Why it is silent otherwise. An entry that is not replayed leaves nothing behind: sizes and link counts
// agree, nothing warns, fsck is content.
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

@@
@@
log_new_delayed_dentries(...)
{
...
+ if (ctx->logging_new_name)
+   return 0;
  ctx->logging_new_delayed_dentries = true;
...
}
