// A checkpoint of the xfs log does not wait for its earlier buffers
//
// re-creates: the class of what 5fd9256ce156 ("xfs: separate CIL commit record IO") (in v5.14) orders: a commit
//             record that can be on disk before the rest of its checkpoint.
// caught by:  durable
// profiles:   xfs
// device:     slow
// workloads:  attributes-set-then-one-fsynced many-files-made-then-one-fsynced
// files: fs/xfs/xfs_log.c fs/xfs/xfs_log_cil.c
// absent: 5.10 (each log buffer there is written with a flush before it, and by itself)
//
// What is changed. A checkpoint that does not fit into one log buffer (32 KiB) ends in a later one than it begins.
// The buffer with the commit record is written after a flush of the device's cache, and the kernel waits for the
// buffers before it first. It now gives them a tick of the clock instead. A log force pauses while the buffer
// before is written, to let more transactions into the last one; it no longer does.
//
// Why it loses what was fsynced. The flush covers what the device has completed. A buffer that is still on its way
// stays behind the commit record, and nothing flushes the cache again. Recovery finds a gap in the log, and takes
// the checkpoint as one that was never finished.
//
// Why it is silent otherwise. Log buffers are submitted in their order, and a tick is long. A device that completes
// writes in their order and soon has the earlier buffers when the flush comes.
//
// Seen with: an fsync after changes that need two log buffers, on a device that completes writes out of order.

@@
identifier ctx, log;
@@
xlog_cil_push_work(...)
{
<...
- xlog_wait_on_iclog(ctx->commit_iclog->ic_prev);
+ spin_unlock(&log->l_icloglock);
+ schedule_timeout_uninterruptible(1);
  spin_lock(&log->l_icloglock);
...>
}

@@
identifier already_slept;
@@
xlog_force_lsn(..., bool already_slept)
{
<...
- if (!already_slept && (...)) {
-	xlog_wait(...);
-	return -EAGAIN;
- }
...>
}
