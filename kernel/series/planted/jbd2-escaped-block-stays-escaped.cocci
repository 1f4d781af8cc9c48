// jbd2 replays a block that begins like one of its own with zeros in that place
//
// re-creates: the class of what fs/jbd2/journal.c jbd2_journal_write_metadata_buffer() is careful about ("escape"): the
//             journal holds something else than the block does.
// caught by:  durable, ordered
// profiles:   ext4-data-journal
// workloads:  data-with-the-magic-of-the-journal
// files: fs/jbd2/recovery.c
//
// What is changed. A block that begins with the magic number of the journal is written with zeros there, and its tag says so.
// Recovery no longer puts the number back.
//
// Why it loses data. The block on disk has four bytes of zeros.
//
// Why it is silent otherwise. No metadata of ext4 begins so, and data is in the journal with data=journal alone.
//
// Seen with: a write of such bytes, and fsync.

@@
typedef __be32;
expression flags, bh;
@@
- if (flags & JBD2_FLAG_ESCAPE) {
- 	*((__be32 *)bh->b_data) = cpu_to_be32(JBD2_MAGIC_NUMBER);
- }
