// The tail of the xfs log moves into a checkpoint
//
// re-creates: the class of 68a74dcae673 ("xfs: order CIL checkpoint start records") (in v5.14): items are kept at
//             the LSN at which their checkpoint starts, for that is where recovery has to begin.
// caught by:  durable
// profiles:   xfs
// absent:     5.10 (its checkpoints start in another way)
// absent:     6.1 (there one call of xfs_trans_committed_bulk() inserts them)
// workloads:  large-change-then-small-ones
// files: fs/xfs/xfs_log_cil.c
//
// What is changed. The items of a checkpoint go into the list of what is not yet in its place (AIL) under the LSN
// of the record that ends the checkpoint. It was that of the record with which it begins.
//
// Why it loses what was promised. The next log record names the oldest LSN in that list as the tail. Recovery
// begins there, inside the checkpoint, and does not find its beginning: all of it is left out.
//
// Why it is silent otherwise. A checkpoint that fits into one record begins and ends there. And something older in
// the log holds the tail, on most filesystems at most times.
//
// Seen with: remount, changes of more than 32 KiB and an fsync, then an fsync of something small.

@@
struct xfs_cil_ctx *ctx;
expression ailp, cur, items, n;
@@
- xlog_cil_ail_insert_batch(ailp, cur, items, n, ctx->start_lsn)
+ xlog_cil_ail_insert_batch(ailp, cur, items, n, ctx->commit_lsn)
