// fsync of a file on the realtime device does not flush that device
//
// re-creates: the class of aac45075f6d7 ("jbd2: add a missing data flush during file and fs synchronization") (in v6.15):
//             fsync has to flush the device that has the data, which is not the one that has the log
// caught by:  durable
// models:   R M
// profiles: xfs-realtime
// workloads: append-fsync-repeated
// files: fs/xfs/xfs_file.c
//
// What is changed. xfs_file_fsync() leaves out the FLUSH of the realtime device.
//
// Why it loses data. The log force flushes the device that has the log. What was written to the realtime device is in
// that device's cache.
//
// Why it is silent otherwise. Only files with XFS_DIFLAG_REALTIME have their data there, and in an order of all
// writes the data comes before the log.

@@
expression mp, error;
@@
(
- error = blkdev_issue_flush(mp->m_rtdev_targp->bt_bdev);
+ ;
|
- xfs_blkdev_issue_flush(mp->m_rtdev_targp);
+ ;
)
