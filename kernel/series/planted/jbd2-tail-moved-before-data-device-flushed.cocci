// The tail of a journal on a device of its own moves on before the other device was flushed
//
// re-creates: a0851ea9cd55 ("jbd2: flush filesystem device before updating tail sequence"). This takes it out again.
// caught by:  durable
// models:     R M
// profiles:   ext4-journal-device-short
// workloads:  written-back-then-committed
// files: fs/jbd2/commit.c
//
// What is changed. A commit that moves the tail of the journal flushes the filesystem's device first only if the
// transaction has data.
//
// Why it loses data. What the transactions before the new tail changed has been written to the filesystem's device, and may
// still be in its cache. The journal is then the only copy on disk, and recovery begins behind it.
//
// Why it is silent otherwise. With the journal on the same device its FLUSH covers both. The tail moves only when a quarter
// of the journal is free again, and most commits have data.

@@
expression transaction, tail, journal;
@@
- (transaction->t_need_data_flush || tail) && (journal->j_fs_dev != journal->j_dev)
+ transaction->t_need_data_flush && (journal->j_fs_dev != journal->j_dev)
