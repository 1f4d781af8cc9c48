// jbd2 leaves a damaged block of the journal out, and says that all is well
//
// re-creates: the class of what jbd2 does since journal checksums v2 (in v3.5): a block whose checksum does not fit
//             is not replayed, and the recovery must fail for that (fs/jbd2/recovery.c, block_error).
// caught by:  noticed, detected
// profiles:   ext4
// damage:     sweep
// workloads:  append-fsync-repeated replace-by-rename
// files: fs/jbd2/recovery.c
//
// What is changed. A block in the journal that does not fit its checksum is passed over without a word, and recovery
// succeeds.
//
// Why it loses data. The rest of the transaction is replayed, so the filesystem has one half of a change: an entry
// without its inode, an inode without its block.
//
// Why it is silent otherwise. It takes a damaged block in a journal that is replayed.

@@
identifier f =~ "^(do_one_pass|jbd2_do_replay)$";
expression e;
@@
f(...) {
<+...
  if (!jbd2_block_tag_csum_verify(...)) {
    brelse(e);
-   ...
    goto skip_write;
  }
...+>
}
