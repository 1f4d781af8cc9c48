// xfs flushes the cache of its data device in sync and syncfs, as it does in fsync
//
// profiles:   xfs
// workloads:  sync-after-log-was-forced syncfs-after-log-was-forced
// files: fs/xfs/xfs_super.c
//
// A fix of our own for what FINDINGS.md tells ("sync and syncfs leave data in the disk's cache").
//
// What is changed. xfs_fs_sync_fs() sends a flush after it has forced the log, whether or not that wrote anything.
// xfs_file_fsync() does so where its force of the log wrote nothing.
//
// How it was checked. With it both workloads keep every promise.

@@
expression mp, error;
@@
  xfs_fs_sync_fs(...)
  {
  ...
  error = xfs_log_force(mp, XFS_LOG_SYNC);
  if (error)
  	return error;
+ error = blkdev_issue_flush(mp->m_ddev_targp->bt_bdev);
+ if (error)
+ 	return error;
  ...
  }
