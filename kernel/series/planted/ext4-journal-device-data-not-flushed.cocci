// A commit to a journal on a device of its own does not flush the device of the data
//
// re-creates: what "ext4, jbd2: Add barriers for file systems with exernal journals" (in v2.6.33) ended
// caught by:  durable
// models:   R T M
// profiles: ext4-journal-device-ordered
// workloads: append-fsync-repeated append-fdatasync-repeated
// files: fs/jbd2/commit.c
//
// What is changed. jbd2_journal_commit_transaction() leaves out the FLUSH of the filesystem's device before the
// commit record.
//
// Why it loses data. The FLUSH that comes with the commit record is one of the journal's device. Data that was
// written to the other device before may still be in its cache: after a power failure the transaction is
// replayed, and its files show blocks that were never written.
//
// Why it is silent otherwise. With the journal on the same device its FLUSH covers both, and in an order of all
// writes the data comes first.

@@
expression journal;
@@
- blkdev_issue_flush(journal->j_fs_dev);
+ ;
