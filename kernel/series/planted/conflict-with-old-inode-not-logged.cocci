// An inode that an older inode's new name conflicts with is not logged
//
// re-creates: 7ba0b6461bc4 ("btrfs: always detect conflicting inodes when logging inode refs"); fstests btrfs/341. This
//             brings back the condition that it took away.
// caught by:  mounts, durable, atomic, quiet
// workloads:  exchange-directories-around-renamed-file exchange-with-subvolume-around-renamed-file
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent: 5.10 (its loop knows nothing of conflicting inodes that are being logged)
//
// What is changed. Where an inode is logged, each of its names is looked up in the last commit: if another inode had it
// there, that one is logged as well. Now this is done only for inodes of this
// transaction, and for those that are logged because of a conflict.
//
// Why the mount fails. Two directories of an earlier transaction change places, and the log has one of them alone. Replay
// removes what had its name, which is the other directory; a subvolume in it cannot be removed like this.
//
// Why it is silent otherwise. An fsync of a directory itself commits after such a rename; it takes the fsync of a renamed
// file in it.
//
// Seen with: a synced file is renamed within its directory, the directory and another one are exchanged, fsync of the file.

@@
@@
copy_inode_items_to_log(...)
{
<+...
- min_key->type == BTRFS_INODE_REF_KEY || min_key->type == BTRFS_INODE_EXTREF_KEY
+ (min_key->type == BTRFS_INODE_REF_KEY || min_key->type == BTRFS_INODE_EXTREF_KEY) &&
+ (inode->generation == trans->transid || ctx->logging_conflict_inodes)
...+>
}
