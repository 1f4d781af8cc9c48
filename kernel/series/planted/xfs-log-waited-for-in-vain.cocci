// XFS waits for a log record for 4 ms and then takes it for written
//
// re-creates: the class of a wait with a time limit whose end is taken for the end of what was waited for.
// caught by:  durable
// profiles:   xfs
// device:     slow
// workloads:  fsync-new-file
// files: fs/xfs/xfs_log.c
//
// What is changed. xlog_wait_on_iclog(), by which fsync and sync wait for a log record, sleeps until the record is
// on disk. It now sleeps for 4 ms at most.
//
// Why it loses what was fsynced. A log record that takes longer is not on disk when fsync returns.
//
// Why it is silent otherwise. Most devices write a log record in less than that. The log itself is right: recovery
// finds each record or none.
//
// Seen with: any fsync, on a device that takes longer.

@@
expression iclog, lock;
@@
xlog_wait_on_iclog(...)
{
<...
- xlog_wait(&iclog->ic_force_wait, lock);
+ {
+ 	ktime_t limit = ms_to_ktime(4);
+ 	wait_queue_entry_t wait;
+
+ 	init_waitqueue_entry(&wait, current);
+ 	add_wait_queue_exclusive(&iclog->ic_force_wait, &wait);
+ 	__set_current_state(TASK_UNINTERRUPTIBLE);
+ 	spin_unlock(lock);
+ 	schedule_hrtimeout(&limit, HRTIMER_MODE_REL);
+ 	remove_wait_queue(&iclog->ic_force_wait, &wait);
+ }
...>
}
