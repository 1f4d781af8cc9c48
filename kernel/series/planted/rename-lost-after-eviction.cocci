// A file whose inode left the cache is found under both names after a rename
//
// re-creates: ecc64fab7d49 ("btrfs: fix lost inode on log replay after mix of fsync, rename and inode
//             eviction"); fstests generic/640.
// caught by:  atomic, durable
// workloads:  rename-evicted-file
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent:     5.10 (its inode_logged() searches no log)
//
// What is changed. Whether an inode is in the log of this transaction is asked of its field logged_trans
// alone. That lives in memory only: an inode that was evicted and read again has 0 there, and inode_logged()
// would have searched the log.
//
// Why it breaks. A rename takes the old name out of the log, and puts the new one in, only if the file or its
// old directory is in the log (btrfs_log_new_name()). It now believes that neither is. The fsync by the new
// name logs the file with its new name, and the log still holds the directory's entry for the old one. Replay
// makes both.
//
// Why it is silent otherwise. Replay counts the names and sets the link count to them, so the file is a
// proper hard link: nothing warns, fsck is content. Without an eviction between fsync and rename all is well.
//
// Seen with: `creat A/foo`, `fsync A`, eviction of both, `rename A/foo B/foo`, `fsync B/foo`.

@@
identifier function = {btrfs_record_unlink_dir, btrfs_log_new_name};
expression trans, inode;
@@
function(...)
{
<...
- inode_logged(trans, inode, NULL)
+ (inode->logged_trans == trans->transid)
...>
}
