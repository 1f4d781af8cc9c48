// A fsynced file comes back whose inode left the cache before it was removed
//
// re-creates: 803f0f64d177 ("Btrfs: fix fsync not persisting dentry deletions due to inode evictions");
//             fstests generic/557.
// caught by:  durable
// workloads:  unlink-evicted-fsync-root
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent:     5.10 (its inode_logged() searches no log)
//
// What is changed. Whether an inode is in the log of this transaction is asked of its field logged_trans
// alone. That lives in memory only: an inode that was evicted and read again has 0 there, and inode_logged()
// would have searched the log.
//
// Why it breaks. An unlink takes the name out of the log if the file or its directory is in it
// (btrfs_del_inode_ref_in_log(), btrfs_del_dir_entries_in_log()). It now believes that neither is. The log
// keeps the file with its name, and replay makes it again, although the directory was fsynced.
//
// Why it is silent otherwise. What replay makes is a proper file with one name: nothing warns, fsck is
// content. Without an eviction between fsync and unlink all is well.
//
// Seen with: `creat foo`, `fsync foo`, eviction, `unlink foo`, `fsync .`. The root stays in the cache; of a
// directory that leaves it with the file, an fsync commits the transaction.

@@
identifier function = {btrfs_del_dir_entries_in_log, btrfs_del_inode_ref_in_log};
expression trans, inode;
@@
function(...)
{
<...
- inode_logged(trans, inode, NULL)
+ (inode->logged_trans == trans->transid)
...>
}
