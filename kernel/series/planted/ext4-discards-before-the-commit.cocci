// Freed blocks are discarded before the transaction that frees them has committed
//
// re-creates: the class of b90f687018e6 ("ext4: Issue the discard operation *before* releasing the blocks to be reused")
//             (in v2.6.37): a discard at the wrong moment.
// caught by:  durable, atomic, historical
// profiles: ext4-discard
// workloads: removed-file-trimmed, cut-file-trimmed, replaced-file-trimmed
// files: fs/ext4/mballoc.c
//
// What is changed. ext4_mb_clear_bb() discards blocks at once, and not when the transaction has committed.
//
// Why it loses data. A crash before the commit brings the file back, and its blocks are zeros.
//
// Why it is silent otherwise. Only a mount with discard is concerned. Nobody reads a freed block but after a crash.

@@
expression sb, block_group, bit, count_clusters, new_entry, e4b;
@@
ext4_mb_clear_bb(...)
{
<...
  new_entry->efd_count = count_clusters;
  new_entry->efd_tid = ...;
+ if (test_opt(sb, DISCARD))
+ 	ext4_issue_discard(sb, new_entry->efd_group, new_entry->efd_start_cluster, count_clusters);
  ext4_lock_group(sb, block_group);
...>
}
