// jbd2 writes the commit record without a flush of what it commits
//
// re-creates: the class of 0e3d2a6313d0 ("ext4: Fix async commit mode to be safe by using a barrier") (in
//             v2.6.32): a commit record that can be on disk before the blocks it is for.
// caught by:  durable
// profiles: ext4
// workloads: fsync-new-file
// files: fs/jbd2/commit.c
//
// What is changed. The commit record is written with FUA alone, where it was with a flush before it and
// FUA.
//
// Why it loses data. FUA makes only the record itself durable. File data and the transaction's blocks in
// the journal may still be in the disk's cache. Recovery finds no descriptor where the transaction should
// begin and ends there: what was fsynced is gone.
//
// Why it is silent otherwise. A disk without a volatile cache never shows it, nor one whose cache is written
// before the power fails. The journal before that transaction is whole, so recovery mostly ends there without
// a word; only where the commit record meets an older descriptor does a checksum make it refuse the mount.
//
// Seen with: any fsync that commits.

@@
expression flags;
@@
- flags |= REQ_PREFLUSH | REQ_FUA;
+ flags |= REQ_FUA;

@@
@@
- REQ_SYNC | REQ_PREFLUSH | REQ_FUA
+ REQ_SYNC | REQ_FUA
