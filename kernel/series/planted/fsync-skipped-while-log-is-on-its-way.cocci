// An fsync is skipped because another task has logged the inode, though that log is not on disk yet
//
// re-creates: the class of 46d8bc34248f ("Btrfs: fix a bug in checking whether a inode is already in log"):
//             what says that an inode is in the log, and what says that the log is on disk, taken for each other.
// caught by:  durable
// workloads:  same-file-fsynced-twice-at-once
// profiles:   btrfs
// files: fs/btrfs/btrfs_inode.h
//
// What is changed. btrfs_inode_in_log() asks two things: whether the inode's changes are in the log of this
// transaction (the inode's last_log_commit, set when it is logged), and whether that log has reached the disk
// (the root's last_log_commit, set at the end of btrfs_sync_log()). The second question is left out.
//
// Why it loses what was fsynced. The task that logged the inode has let go of it and writes the log tree. A
// second fsync of the same file finds it logged and returns; a power failure before the superblock points to
// the log takes back what that second call promised.
//
// Why it is silent otherwise. One task alone never sees the time between: its own fsync returns when the log
// is on disk, so its next one is skipped rightly. All that is written is right, and a moment later it is there.

@@
expression E;
identifier inode;
@@
btrfs_inode_in_log(...)
{
<+...
(
- E && inode->last_sub_trans <= btrfs_get_root_last_log_commit(inode->root)
+ E
|
- E && inode->last_sub_trans <= inode->root->last_log_commit
+ E
)
...+>
}
