// An fsync logs extents whose write failed
//
// re-creates: f13e01b89daf ("btrfs: ensure fast fsync waits for ordered extents after a write failure") (in v6.10). This takes
//             it out again, and makes the time long in which it matters.
// caught by:  usable, consistent
// workloads:  direct-write-fails-then-fsync
// profiles:   btrfs
// files: fs/btrfs/ordered-data.c fs/btrfs/inode.c
// absent: 5.10 6.1 (that fix is not in them)
//
// What is changed. A write that fails does not make the next fsync of the file wait. And what is to be undone for the write,
// which another task does, begins 100 ms later.
//
// Why it loses data. Until then the file has an extent that was never written. An fsync that finds it logs it, with its
// checksums, and after a power failure the file cannot be read there.
//
// Why it is silent otherwise. The other task is mostly faster.

@@
@@
btrfs_finish_ordered_extent(...)
{
<...
- if (!uptodate && !test_bit(BTRFS_ORDERED_NOCOW, &ordered->flags))
- 	set_bit(BTRFS_INODE_COW_WRITE_ERROR, &inode->runtime_flags);
...>
}

@@
identifier ordered_extent;
@@
btrfs_finish_one_ordered(...)
{
<...
  if (test_bit(BTRFS_ORDERED_IOERR, &ordered_extent->flags)) {
+ 	schedule_timeout_uninterruptible(HZ / 10);
  	...
  }
...>
}
