// After an fsync of a clone, the next one that logs all of it leaves out what is older
//
// re-creates: the class of 23e3337faf73 ("btrfs: reset last_reflink_trans after fsyncing inode") (in v5.18), which
//             an inode that must be logged in full takes back
// caught by:  durable
// profiles: btrfs
// workloads: cloned-file-cut-between-fsyncs
// files: fs/btrfs/btrfs_inode.h
//
// What is changed. btrfs_set_inode_full_sync() raises last_reflink_trans only where it was not reset.
//
// Why it loses data. The log gets the extents of this transaction alone. Those that were cloned are older, and
// replay leaves a hole.
//
// Why it is silent otherwise. An fsync that does not log the whole inode keeps what was logged before.

@@
identifier inode;
@@
- if (inode->last_reflink_trans < inode->last_trans)
+ if (inode->last_reflink_trans && inode->last_reflink_trans < inode->last_trans)
  	inode->last_reflink_trans = inode->last_trans;
