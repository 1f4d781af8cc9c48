// xfs does not replay its log in a read-only mount
//
// re-creates: the class of 76e589013fec ("xfs: allow inode inactivation during a ro mount log recovery") (in v6.6):
//             a recovery that leaves something out because the mount is read-only; cf. fstests generic/417 and
//             generic/646.
// caught by:  durable
// profiles: xfs-ro-first
// workloads: fsync-new-file
// absent: 5.10 (the option is a flag of another form)
// files: fs/xfs/xfs_log.c
//
// What is changed. Recovery is left out of every read-only mount, and not only with norecovery.
//
// Why it loses data. What was fsynced and stands in the log alone does not show; and the unmount marks the log as
// clean, so no later mount replays it.
//
// Why it is silent otherwise. Most filesystems are mounted to be written to.
//
// Seen with: any workload that leaves a log to be replayed.

@@
expression mp, log;
@@
- if (!xfs_has_norecovery(mp)) {
+ if (!xfs_has_norecovery(mp) && !xfs_is_readonly(mp)) {
  	...
  	error = xlog_recover(log);
  	...
  }
