// btrfs' syncfs does not wait for a commit that another task makes
//
// re-creates: d4edf39bd5db ("Btrfs: fix uncompleted transaction") (in v3.9): who finds no transaction may have come
//             while one was being written. This takes it out again, in syncfs.
// caught by:  durable, ordered
// profiles:   btrfs
// workloads:  syncfs-twice-at-once
// files: fs/btrfs/super.c
//
// What is changed. syncfs looks for a running transaction and commits it. Where there is none, it waits for one that is
// being written. It no longer does.
//
// Why it loses what was promised. What was there before the call belongs to the transaction that is being written. The
// call returns before the superblock is.
//
// Why it is silent otherwise. One task alone never meets its own commit.
//
// Seen with: syncfs, and in another thread syncfs while the first one writes.

@@
@@
btrfs_sync_fs(...)
{
<...
- btrfs_attach_transaction_barrier
+ btrfs_attach_transaction
  (...)
...>
}
