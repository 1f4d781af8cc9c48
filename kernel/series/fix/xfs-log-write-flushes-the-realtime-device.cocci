// A write to the log flushes the realtime device first, and so do sync and syncfs
//
// profiles:   xfs-realtime
// workloads:  overwritten-between-syncs
// files: fs/xfs/xfs_log.c fs/xfs/xfs_super.c
//
// A fix of our own for XFS-7 (docs/findings/XFS-7.md). The kernel will have another: ad0033e2dbd3 ("xfs: also flush the RT
// device cache in xlog_write_iclog").
//
// What is changed. xlog_write_iclog() flushes the realtime device where it flushes the data device of a log on a device
// of its own: what the log says of extents there is true only of data that is on disk. xfs_fs_sync_fs() flushes both
// devices, also where the log had nothing to write.
//
// How it was checked. With it the workload keeps the promise that XFS-7 breaks, on 6.12.

@@
expression iclog;
@@
  iclog->ic_bio.bi_opf |= REQ_PREFLUSH;
+ if (iclog->ic_log->l_mp->m_rtdev_targp &&
+     blkdev_issue_flush(iclog->ic_log->l_mp->m_rtdev_targp->bt_bdev))
+ 	goto shutdown;

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
+ if (!error && mp->m_rtdev_targp)
+ 	error = blkdev_issue_flush(mp->m_rtdev_targp->bt_bdev);
+ if (error)
+ 	return error;
  ...
  }
