// A commit to a journal on a device of its own always flushes the device of the data first
//
// profiles:   ext4-journal-device
// workloads:  append-fsync-repeated append-fdatasync-repeated overwritten-between-syncs
// files: fs/jbd2/commit.c
//
// A fix of our own for EXT4-20 (docs/findings/EXT4-20.md). The kernel has another since aac45075f6d7 ("jbd2: add a missing
// data flush during file and fs synchronization") (in v6.15).
//
// What is changed. The commit flushed the filesystem's device only where a file with ordered data, or a new tail of the
// journal, was in the transaction. fsync relies on that FLUSH in every case.
//
// How it was checked. With it the workloads above keep the promise that EXT4-20 breaks, on 6.12.

@@
expression journal, transaction, update;
@@
- (transaction->t_need_data_flush || update) &&
  (journal->j_fs_dev != journal->j_dev)
