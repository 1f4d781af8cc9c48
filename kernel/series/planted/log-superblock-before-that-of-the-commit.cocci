// The superblock of a new log is written while that of the commit before it is still to come
//
// re-creates: the class of "btrfs: do not block inode logging for so long during transaction commit": an fsync may
//             log while the transaction before its own is being written, and has to know when that has ended.
// caught by:  mounts, quiet
// workloads:  fsync-overtakes-syncfs
// profiles:   btrfs
// absent:     5.10 (there btrfs_sync_log() takes no such mutex)
// files: fs/btrfs/tree-log.c
//
// What is changed. A commit holds tree_log_mutex until its superblock is written, so that btrfs_sync_log() waits
// there with its own. It no longer takes the mutex.
//
// Why it breaks. The superblock that fsync writes has the roots of the commit, whose trees are still on their way to
// the disk. A power failure in between leaves a superblock that leads nowhere.
//
// Why it is silent otherwise. One task alone never commits and fsyncs at once. A moment later the trees are on disk,
// and all that both wrote is right.
//
// Seen with: syncfs, beside it setxattr and fsync of a file when the commit has written some of its blocks.

@@
expression E;
@@
btrfs_sync_log(...)
{
<+...
(
- mutex_lock(&E->tree_log_mutex);
|
- mutex_unlock(&E->tree_log_mutex);
)
...+>
}
