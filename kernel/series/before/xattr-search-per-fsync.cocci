// Every logging of an inode searches the subvolume tree for its xattrs
//
// upstream: f2f121ab500d ("btrfs: skip unnecessary searches for xattrs when logging an inode") (in v5.11;
//   Debian's 5.10 has it by stable backport)
// files: fs/btrfs/tree-log.c
//
// What is taken out. btrfs_log_all_xattrs() returns at once for an inode that it has seen without xattrs
// before (BTRFS_INODE_NO_XATTRS, set there, taken back when an xattr is added). It no longer looks at the
// flag, which is set and taken back as ever, and searches each time.
//
// How it was checked. Counted calls of a gcov kernel: repeated fsyncs of a directory without xattrs do one
// btrfs_search_slot() more for each fsync but the first (harness/suite/test_before.py). The library of
// workloads finds nothing that it does not find on the kernel without the change.

@@
expression flags;
@@
btrfs_log_all_xattrs(...)
{
...
- if (test_bit(BTRFS_INODE_NO_XATTRS, flags))
- 	return 0;
... when any
}
