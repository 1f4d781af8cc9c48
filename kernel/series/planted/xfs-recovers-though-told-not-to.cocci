// xfs replays its log in a mount with norecovery
//
// re-creates: the class of a mount option that is not heeded; cf. fstests generic/050.
// caught by:  mounts
// profiles: xfs-ro-first
// workloads: fsync-new-file
// absent: 5.10 (the option is a flag of another form)
// files: fs/xfs/xfs_log.c
//
// What is changed. The condition that leaves recovery out is gone.
//
// Why it does harm. Who mounts a disk with ro and norecovery wants to look at it as the power failure left it, or
// must not write to it. Now it is written to.
//
// Why it is silent otherwise. Nobody mounts with norecovery but after trouble.
//
// Seen with: any workload that leaves a log to be replayed.

@@
expression mp, log;
@@
- if (!xfs_has_norecovery(mp)) {
+ if (true) {
  	...
  	error = xlog_recover(log);
  	...
  }
