// A synchronous direct write within a block that is there does not log the new size
//
// re-creates: the class of 7684e2c4384d ("iomap: iomap that extends beyond EOF should be marked dirty") (in v5.5)
// caught by:  durable
// profiles: xfs
// workloads: direct-dsync-extends-within-a-block
// files: fs/xfs/xfs_iomap.c
//
// What is changed. xfs_direct_write_iomap_begin() does not call a mapping dirty that reaches beyond the end of the
// file.
//
// Why it loses data. The write goes out with FUA and returns, and the size is only in memory.
//
// Why it is silent otherwise. A write that needs a new block logs that, and the size with it. A write without
// O_DSYNC promises nothing.

@@
expression iomap_flags;
identifier offset, length, inode;
@@
- if (offset + length > i_size_read(inode))
- 	iomap_flags |= IOMAP_F_DIRTY;
