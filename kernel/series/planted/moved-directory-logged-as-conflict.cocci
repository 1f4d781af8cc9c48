// A directory that was moved in this transaction is logged because a new file took its name
//
// re-creates: 266273eaf4d9 ("btrfs: don't log conflicting inode if it's a dir moved in the current transaction"); fstests
//             generic/784. This takes its condition out again.
// caught by:  mounts, quiet
// workloads:  directory-moved-file-takes-its-name
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent: 5.10 (there the conflicting inode is logged in another function)
//
// What is changed. An inode that had the name of the file that is fsynced is logged as well. If it is a directory that
// was moved in this transaction, the fsync commits instead. It no longer asks whether it was moved.
//
// Why the mount fails. The log holds the directory's new name and not its old parent. When the file moves away, too, nothing
// in the log takes the old name away: replay makes a directory with two names, which the checks of a leaf refuse.
//
// Why it is silent otherwise. While the filesystem is mounted nothing reads the log, and a commit throws it away.
//
// Seen with: `mkdir A`, `mkdir B`, sync, `rename A B/A`, `creat A`, `fsync A`, `rename A B/foo`, `fsync B/foo`.

@@
@@
can_log_conflicting_inode(...)
{
...
- return false;
+ return true;
}
