// Replay of jbd2 leaves zeros in place of the magic number with which a block begins
//
// re-creates: the class of bugs in the escape of fs/jbd2/journal.c jbd2_journal_write_metadata_buffer(): there the copy of a
//             block in the journal differs from the block.
// caught by:  durable, ordered
// profiles:   ext4-data-journal
// workloads:  data-with-the-magic-of-the-journal
// files: fs/jbd2/recovery.c
//
// What is changed. The blocks of the journal itself begin with JBD2's magic number. Where a block to be journaled begins with
// the same four bytes, the journal gets a copy with zeros there, and its tag has JBD2_FLAG_ESCAPE. Replay puts the number back.
// The planted bug leaves that out.
//
// Why it loses data. After replay the block on disk begins with four bytes of zeros.
//
// Why it is silent otherwise. No metadata of ext4 begins with the number, and data goes through the journal with data=journal
// alone.
//
// Seen with: a write of such bytes, and fsync.

@@
typedef __be32;
expression flags, bh;
@@
- if (flags & JBD2_FLAG_ESCAPE) {
- 	*((__be32 *)bh->b_data) = cpu_to_be32(JBD2_MAGIC_NUMBER);
- }
