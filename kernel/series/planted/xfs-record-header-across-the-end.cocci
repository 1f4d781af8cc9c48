// Recovery looks in the wrong place for a log record whose header crosses the end of the log
//
// re-creates: 284f1c2c9beb ("xfs: fix recovery failure when log record header wraps log end") (in v4.14)
// caught by:  durable quiet
// profiles: xfs-log-end-256k
// workloads: append-fsync-repeated
// files: fs/xfs/xfs_log_recover.c
//
// What is changed. Where the header of a record crosses the end of the log, all of its data are at the begin. Recovery
// takes them for data that cross the end themselves.
//
// Why it loses data. It reads a negative number of blocks, which fails in the pass over the last records: recovery takes
// the log for torn there and says so, and what was fsynced by that record is gone.
//
// Why it is silent otherwise. A header has one block with the log buffers of 32 KiB that are the default, and
// eight with those of 256 KiB (logbsize); one of the last seven blocks of a log of 64 MiB must be where a record begins.
//
// Missed in a ninth round of unseen bugs, since no log came to its end.

@@
expression log, blk_no, bblks;
@@
- blk_no + bblks <= log->l_logBBsize || blk_no >= log->l_logBBsize
+ blk_no + bblks <= log->l_logBBsize
