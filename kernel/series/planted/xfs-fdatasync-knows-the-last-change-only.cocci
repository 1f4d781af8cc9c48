// fdatasync on xfs looks at the last change of an inode alone
//
// re-creates: the class of fc0561cefc04 ("xfs: optimise away log forces on timestamp updates for fdatasync") (in
//             v4.4), which has to remember the kinds of all changes since the last force; fstests generic/392.
// caught by:  durable
// profiles:   xfs
// absent:     7.2 (it keeps sequence numbers in the place of kinds)
// workloads:  size-then-times-fdatasync
// files: fs/xfs/xfs_inode_item.c fs/xfs/libxfs/xfs_trans_inode.c
//
// What is changed. Each transaction adds the kinds of what it changed in an inode to those since the last log
// force. It now puts them in the place of those before.
//
// Why it loses what was promised. A size, an extent or a reservation is logged, and then a timestamp. fdatasync
// finds timestamps alone and forces no log.
//
// Why it is silent otherwise. fsync does not look at the kinds. Mostly a write changes the timestamps first and
// the size last, when its data is written.
//
// Seen with: append, sync_file_range, a write inside the file, fdatasync.

@@
struct xfs_inode_log_item *iip;
expression kinds;
@@
- iip->ili_fsync_fields |= kinds;
+ iip->ili_fsync_fields = kinds;
