// xfs logs a new size as if it were a timestamp
//
// re-creates: the class that fc0561cefc04 ("xfs: optimise away log forces on timestamp updates for
//             fdatasync") (in v4.4) made possible: fdatasync trusts the flags of what was logged; fstests
//             generic/392.
// caught by:  durable
// profiles: xfs
// workloads: append-few-bytes-fdatasync
// files: fs/xfs/xfs_aops.c
//
// What is changed. xfs_setfilesize() logs the inode, with its new size, under XFS_ILOG_TIMESTAMP instead of
// XFS_ILOG_CORE.
//
// Why it loses data. fdatasync forces no log when nothing but timestamps was logged since the last force.
// An append inside the last block logs nothing else.
//
// Why it is silent otherwise. Either flag logs the whole inode core, so the size is in the log and goes to
// disk with the next force. fsync does not look at the flags, and an append that allocates sets others,
// too.
//
// Seen with: `append` inside the last block, then fdatasync.

@@
expression tp, ip;
identifier f =~ "^(__)?xfs_setfilesize$";
@@
  f(...)
  {
  <...
- xfs_trans_log_inode(tp, ip, XFS_ILOG_CORE);
+ xfs_trans_log_inode(tp, ip, XFS_ILOG_TIMESTAMP);
  ...>
  }
