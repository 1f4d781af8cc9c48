// Every fsync waits until the ordered extents of the file are complete
//
// upstream: 487781796d30 ("btrfs: make fast fsyncs wait only for writeback") (in v5.10)
// files: fs/btrfs/file.c
//
// What is taken out. A fast fsync (of an inode without BTRFS_INODE_NEEDS_FULL_SYNC) waits only for the
// writeback of the pages and hands the ordered extents, which are not complete, to the log. It waits for
// them as a full fsync does. None is then left to hand over, and the checksums are found in their tree. The
// same commit made an fsync of a range one of the whole file, which a correct log needs; that stays.
//
// How it was checked. Counted calls of a gcov kernel: btrfs_wait_ordered_range() once for each fast fsync,
// and never without the change (harness/suite/test_before.py). The library of workloads finds nothing that
// it does not find on the kernel without the change.

@@
statement list wait;
symbol full_sync;
@@
btrfs_sync_file(...)
{
... when any
- if (\(full_sync \| full_sync || ...\)) {
 	wait
- } else { ... }
... when any
}
