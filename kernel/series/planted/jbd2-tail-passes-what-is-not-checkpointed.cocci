// jbd2 moves the journal's tail past transactions that are not checkpointed
//
// re-creates: the class of 353b67d8ced4 ("jbd: Issue cache flush after checkpointing"), of which jbd2 has the like:
//             the journal lets go of blocks whose place on the disk does not have them.
// caught by:  durable, fsck, ordered
// profiles:   ext4-short-journal
// workloads:  very-many-new-names append-fsync-repeated large-attribute-set-beside-an-fsync
// files: fs/jbd2/journal.c
//
// What is changed. The new tail is that of the committing or the running transaction, whether or not older ones have
// blocks that are not yet in their places.
//
// Why it loses data. Recovery begins at the tail. What stands before it is in the journal no more, and in its place not
// yet.
//
// Why it is silent otherwise. A journal that is not full never moves its tail while it is used, and an unmount writes all.

@@
identifier transaction, journal;
@@
jbd2_journal_get_log_tail(...)
{
<...
- transaction = journal->j_checkpoint_transactions;
+ transaction = NULL;
...>
}
