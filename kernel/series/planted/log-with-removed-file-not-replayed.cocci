// A log that holds a removed file with extents cannot be replayed
//
// re-creates: 0a32e4f0025a ("btrfs: fix log tree replay failure due to file with 0 links and extents"); fstests generic/771.
//             It was met by many users of 6.15 and 6.16, whose fsync began to log such files with
//             5e85262e542d ("btrfs: fix fsync of files with no hard links not persisting deletion").
// caught by:  mounts
// workloads:  two-fsynced-one-unlinked
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent: 7.2 (its fsync logs a file without names already, and its replay has another form)
//
// What is changed. An fsync logs a file without names again, as from 5e85262e542d on. Replay goes over the log several
// times; whether an inode has no names and is to be passed over is found out in the first of these only.
//
// Why the mount fails. In a later pass the note is that of the last inode of the first pass. If that one has a name, replay
// takes the extents of the removed file, whose inode is not there: the mount ends with an error.
//
// Why it is silent otherwise. A removed file alone in the log, or one with the highest inode number, comes out right. While
// the filesystem is mounted nothing reads the log.
//
// Seen with: a new file is written, removed and fsynced through its descriptor; a newer file is fsynced.

@@
identifier inode, ctx, trans;
@@
btrfs_log_inode_parent(struct btrfs_trans_handle *trans, struct btrfs_inode *inode, ..., struct btrfs_log_ctx *ctx)
{
<+...
- (btrfs_inode_in_log(inode, trans->transid) && list_empty(&ctx->ordered_extents)) || inode->vfs_inode.i_nlink == 0
+ btrfs_inode_in_log(inode, trans->transid) && list_empty(&ctx->ordered_extents)
...+>
}

@@
identifier wc, eb, inode_item;
expression E;
@@
replay_one_buffer(...)
{
<+...
- if (key.type == BTRFS_INODE_ITEM_KEY)
+ if (key.type == BTRFS_INODE_ITEM_KEY && wc->stage == LOG_WALK_REPLAY_INODES)
  {
    inode_item = E;
    if (btrfs_inode_nlink(eb, inode_item) == 0) { wc->ignore_cur_inode = true; ... }
    else { ... }
  }
...+>
}
