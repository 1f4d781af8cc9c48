// A durable file's new name in a new directory is lost although the file was fsynced
//
// re-creates: the class of 41bd60676923 ("Btrfs: fix fsync of files with multiple hard links in new
//             directories") with a file that an earlier transaction made; CrashMonkey's B3-7.
// caught by:  durable
// workloads:  link-old-file-into-new-directory truncate-up-after-rename
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. A link notes in the file (last_unlink_trans) that an fsync of it must look at its
// directories, too. The note is not made.
//
// Why it loses data. btrfs_log_inode_parent() trusts that a regular file of an earlier transaction without
// that note needs nothing but itself in the log. The log holds the new name's reference and not the new
// directory. Replay passes over a reference whose directory it cannot find.
//
// Why it is silent otherwise. Replay sets the link count to the names that it finds: nothing warns, fsck is
// content. A new file comes out right, for its directories are logged anyway.
//
// Seen with: sync with foo in it, `mkdir A`, `link foo A/bar`, `fsync foo`.

@@
statement S;
@@
btrfs_log_new_name(...)
{
<...
- if (!S_ISDIR(inode->vfs_inode.i_mode)) S
...>
}
