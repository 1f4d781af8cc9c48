// jbd2's recovery notes the first revoke record of a block, and not the last
//
// re-creates: the class of 904cdbd41d74 ("jbd2: clear dirty flag when revoking a buffer from an older
//             transaction") (in v5.0): an old image of freed metadata lands on the data that took its
//             block; fstests generic/455. Here the block is metadata twice.
// caught by:  durable, historical
// profiles:   ext4-one-group
// workloads:  metadata-blocks-reused-twice
// files: fs/jbd2/revoke.c
//
// What is changed. Where the journal has two revoke records of one block, recovery keeps the transaction of the first.
//
// Why it loses data. Images from the transactions between the two are replayed: those of the second life of the block.
// It is data since the second record, and that data was fsynced.
//
// Why it is silent otherwise. A block has to be metadata, free, metadata, free, and data, all within one journal.

@@
identifier record, sequence;
@@
jbd2_journal_set_revoke(...)
{
<...
- if (tid_gt(sequence, record->sequence))
- 	record->sequence = sequence;
...>
}
