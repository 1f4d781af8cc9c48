// The first transaction after a recovery has the number of the last one before it
//
// re-creates: no single fix: a recovery that is right, and leaves what the next one takes for new; kin: "ext4: the
//             fast commit after a freeze or a remount is not replayed" (docs/findings/EXT4-18.md)
// caught by:  kept
// models:   A
// profiles: ext4-fast-commit
// workloads: exchange-link-then-reuse-name
// files: fs/jbd2/recovery.c
//
// What is changed. jbd2_journal_recover() goes on behind the numbers that it found, "thus invalidating any
// existing commit records in the log". Here it goes on with the number of the last transaction.
//
// Why it loses data. Fast commits name the transaction that they follow. Those of before the first power failure
// name the number that the second transaction of the new mount has, too, so after a second failure they are
// replayed once more, on top of what was fsynced since then: a file gets its old size, and what it was given
// then is cut off.
//
// Why it is silent otherwise. Recovery itself is right, and a clean unmount empties the journal. The power has
// to fail a second time, after a whole commit and before a fast one has taken the place of the old.

@@
expression info;
@@
- journal->j_transaction_sequence = ++info.end_transaction;
  journal->j_head = info.head_block;
+ journal->j_transaction_sequence = info.end_transaction - 1;
  jbd2_debug(...);
  jbd2_journal_clear_revoke(journal);
