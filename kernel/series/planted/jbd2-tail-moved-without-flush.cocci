// jbd2 moves the tail of the journal without a flush of what was checkpointed
//
// re-creates: the class of 353b67d8ced4 ("jbd: Issue cache flush after checkpointing"), of which jbd2 has the like:
//             the journal lets go of blocks whose place on the disk may not have them yet.
// caught by:  durable, fsck
// profiles:   ext4
// workloads:  freeze-makes-all-durable frozen-after-fsyncs-into-reserved-blocks remounted-read-only
// files: fs/jbd2/checkpoint.c
//
// What is changed. A checkpoint writes blocks into their places. The flush between these writes and the journal's
// superblock, which says that their images are no longer needed, is left out.
//
// Why it loses data. The superblock is written with FUA, the blocks may be in the disk's cache. When the power fails
// then, they are neither in the journal nor in their places.
//
// Why it is silent otherwise. Any later flush makes it good, and most tails are moved by a commit, which flushes.
//
// Seen with: freeze, or a remount read-only, which empty the journal.

@@
expression journal;
@@
jbd2_cleanup_journal_tail(...)
{
<...
- if (journal->j_flags & JBD2_BARRIER)
- 	blkdev_issue_flush(...);
...>
}
