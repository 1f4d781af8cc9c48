// A mount that fails before intents are recovered does not wait for them
//
// profiles:   xfs
// workloads:  clone-stops-at-mapping
// absent:     5.10 6.1 (not tried there)
// files: fs/xfs/xfs_mount.c
//
// A fix of our own for XFS-9 (docs/findings/XFS-9.md).
//
// What is changed. Where xfs_mountfs() fails and the log still has intents that were not recovered, it shuts the
// filesystem down and gives them up before it waits until the list of log items is empty, and not after that.
//
// Why. Nothing else takes them off the list. The shutdown keeps the log as it is, so the next mount recovers it.
//
// How it was checked. With it no state of the workload hangs with --failing-blocks, and each is recovered when the block can
// be read again: 500 states each on 6.12 and 7.2.

@@
identifier f = xfs_mountfs;
identifier mp;
@@
  f(struct xfs_mount *mp) {
  <...
+ if (xlog_recovery_needed(mp->m_log)) {
+ 	xfs_force_shutdown(mp, SHUTDOWN_META_IO_ERROR);
+ 	xlog_recover_cancel(mp->m_log);
+ }
  xfs_unmount_flush_inodes(mp);
  ...>
  }
