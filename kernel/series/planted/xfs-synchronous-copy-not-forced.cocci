// a copy or clone to a descriptor with O_SYNC or O_DSYNC does not force the log
//
// re-creates: 5ffce3cc22a0 ("xfs: force the log after remapping a synchronous-writes file") (in v5.10), taken out
//             again; fstests generic/628 and generic/629 ask for it.
// caught by:  durable
// profiles: xfs
// workloads: copyrange-by-dsync-descriptor clone-by-sync-descriptor
// files: fs/xfs/xfs_file.c
//
// What is changed. xfs_file_remap_range() returns without xfs_log_force_inode().
//
// Why it loses data. The new extents of the target are in a transaction that only memory has. A power failure takes
// them back, although the call promised what a write by this descriptor promises.
//
// Why it is silent otherwise. The log is forced 30 s later, and by any fsync. A program that copies without O_SYNC sees
// no difference.
//
// Seen with: open with O_DSYNC, copy_file_range of whole blocks or FICLONERANGE, power failure.

@@
expression in, out, dest;
@@
- if (xfs_file_sync_writes(in) || xfs_file_sync_writes(out))
-         xfs_log_force_inode(dest);
