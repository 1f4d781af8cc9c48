// f2fs leaves old node addresses in the journal of a checkpoint where new ones find no room beside them
//
// re-creates: no known bug; what f2fs_flush_nat_entries() in fs/f2fs/node.c empties the journal for.
// caught by:  durable fsck consistent
// profiles:   f2fs
// workloads:  many-inodes-change-between-syncs
// files: fs/f2fs/node.c
//
// What is changed. A checkpoint notes in a journal of 38 entries where nodes lie. When the changed ones find no room
// beside those that are there, all go to the table of addresses and the journal is emptied. Now it is emptied only when
// more have changed than it has entries in all.
//
// Why it loses what was synced. Some of the changed ones go to the table, and the journal keeps an older entry of the
// same node. A mount reads the journal first, and finds the node where it was before.
//
// Why it is silent otherwise. In memory the addresses are right.
//
// Seen with: 26 new files, sync, 14 of them longer, sync.

@@
expression manager;
@@
- !__has_cursum_space(..., manager->nat_cnt[DIRTY_NAT], NAT_JOURNAL)
+ manager->nat_cnt[DIRTY_NAT] > NAT_JOURNAL_ENTRIES
