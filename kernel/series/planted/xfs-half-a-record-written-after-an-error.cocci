// Recovery that failed in a record of the log writes what it had of it
//
// re-creates: e4c3b72a6ea9 ("xfs: ensure submit buffers on LSN boundaries in error handlers") (in v6.9), taken out.
// caught by:  healed
// profiles:   xfs
// absent:     5.10 6.1 (they do not have the fix)
// damage:     failing
// workloads:  two-fsyncs-in-one-record-of-the-log
// files: fs/xfs/xfs_log_recover.c
//
// What is changed. When recovery fails, the buffers that it has changed since the last record are written in place of
// being dropped.
//
// Why it breaks. Each of these buffers has the LSN of its record on it. A record may have several checkpoints. Where the
// first one was recovered and the second one was not, the next recovery finds the LSN on a buffer, takes it for new
// enough, and passes over what the second checkpoint has of it.
//
// Why it is silent otherwise. It takes two checkpoints in one record, a block that cannot be read before the second one
// has come to a buffer of the first, and a second recovery.

@@
identifier f = xlog_do_recovery_pass;
@@
  f(...) {
  <...
- xlog_force_shutdown(...);
  ...>
  }
