// Space reserved behind the end of a file is lost by a full fsync in a later transaction
//
// re-creates: d99478874355 ("btrfs: fix lost prealloc extents beyond eof after full fsync"),
//             fstests generic/677. This takes its condition out again.
// caught by:  durable
// workloads:  overwrite-with-reserved-tail
// profiles:   btrfs
// absent:     5.10 (its copy_items() has no such condition)
// files: fs/btrfs/tree-log.c
//
// What is changed. A full fsync does not copy extents of older transactions into the log: the subvolume
// has them. The exception for extents at or behind the end of the file is taken out.
//
// Why it loses space. Replay of an inode drops everything behind the end of the file before it puts the
// extents of the log there. Reservations that are older than the transaction are not in the log: gone.
//
// Why it is silent otherwise. Data and size are right, and a reservation made in the transaction that is
// fsynced is logged. Only the file's blocks tell, until a later write meets ENOSPC.

@@
attribute name AUTO_KFREE;
expression gen, start, inode, trans;
@@
- gen && start < i_size && inode->last_reflink_trans < trans->transid
+ gen && inode->last_reflink_trans < trans->transid
