// jbd2 replays a block that does not fit its checksum
//
// re-creates: the state before journal checksums v2, without a checksum for each block (db9ee220361d ("jbd2: fix
//             descriptor block size handling errors with journal_csum") (in v3.17) made it v3).
// caught by:  detected
// profiles:   ext4-data-journal
// damage:     sweep
// workloads:  append-fsync-repeated
// files: fs/jbd2/recovery.c
//
// What is changed. The checksum of a block in the journal is not held against the one in its tag.
//
// Why it loses data. With data=journal the bytes of files go through the journal, and have no other checksum: a
// damaged one is written into its place, and reads as good.
//
// Why it is silent otherwise. It takes a damaged block in a journal that is replayed. Metadata mostly has a checksum
// of its own, at which ext4 stops later.

@@
@@
jbd2_block_tag_csum_verify(...) {
<+...
- if (!jbd2_journal_has_csum_v2or3(j))
-   return 1;
+ return 1;
...+>
}
