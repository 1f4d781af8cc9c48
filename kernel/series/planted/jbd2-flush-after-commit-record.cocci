// jbd2 flushes the disk after the commit record, and not before it
//
// re-creates: the class of 0e3d2a6313d0 ("ext4: Fix async commit mode to be safe by using a barrier") (in
//             v2.6.32): a commit record that can be on disk before the blocks it is for.
// caught by:  mounts, quiet, durable, historical
// profiles:   ext4
// workloads:  fsync-new-file
// models:     R
// files: fs/jbd2/commit.c
//
// What is changed. The commit record is written as any other block, and the flush that its PREFLUSH and FUA
// stood for comes when it has been written: what the feature async_commit does, without that feature.
//
// Why it loses data. The disk may write its cache back in any order. With the commit record on the disk and
// a block of its transaction not yet, recovery replays a transaction that is not whole, or, where it notices
// by the checksum of that block, refuses the mount.
//
// Why it is silent otherwise. When fsync returns, everything is on the disk. A disk that keeps the order in
// which writes completed always has the transaction before its commit record: no prefix shows it.

@@
expression flags;
@@
- flags |= REQ_PREFLUSH | REQ_FUA;
+ flags |= REQ_SYNC;

@@
@@
jbd2_journal_commit_transaction(...) {
<+...
- if (jbd2_has_feature_async_commit(journal) && journal->j_flags & JBD2_BARRIER)
+ if (journal->j_flags & JBD2_BARRIER)
  { ... }
...+>
}
