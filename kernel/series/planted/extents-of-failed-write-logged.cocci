// A fast fsync logs extents whose write has failed
//
// re-creates: 4e17707035a6 ("btrfs: ensure fast fsync waits for ordered extents after a write failure"). This takes its note
//             out again.
// caught by:  durable, consistent, historical, honest
// faults:     sweep
// workloads:  write-after-fsync append-fsync-repeated overwrite-in-place
// profiles:   btrfs
// files: fs/btrfs/ordered-data.c
// absent: 5.10 6.1 (the fix is not in them)
//
// What is changed. A write that fails makes a note in the inode, so that the next fsync waits until what was to become of
// the write has been taken back. The note is not made.
//
// Why it loses data. The fsync can log an extent that was never written.
//
// Why it is silent otherwise. A sound device fails no write.

@@
@@
- set_bit(BTRFS_INODE_COW_WRITE_ERROR, ...);
