// An atomic write on xfs that the device cannot do at once is done in place
//
// re-creates: the class of what "xfs: add xfs_file_dio_write_atomic()" (in v6.16) is for: where the device cannot write so
//             much at once, new blocks are written and mapped in by one transaction.
// caught by:  atomic
// profiles:   xfs
// absent:     5.10 6.1 6.12 (no atomic writes of several blocks)
// workloads:  atomic-write-over-pieces
// files: fs/xfs/xfs_file.c
//
// What is changed. Where a write with RWF_ATOMIC is longer than what the device writes atomically, xfs writes to new blocks
// (xfs_atomic_write_cow_iomap_ops) and maps all of them by one transaction. The planted bug drops RWF_ATOMIC there: the write
// goes to the blocks that the file has, as any direct write.
//
// Why it tears. A range of several extents is several requests to the device. A power failure between two of them leaves some
// of the new bytes beside old ones.
//
// Why it is silent otherwise. Without a power failure all bytes are written. A range within one extent is one request, which
// only model T tears.
//
// Seen with: an atomic write over written and reserved blocks.

@@
identifier f = xfs_file_dio_write_atomic;
expression count, limit;
@@
  f(...) {
  <...
  if (count > limit)
- 	dops = &xfs_atomic_write_cow_iomap_ops;
+ {
+ 	iocb->ki_flags &= ~IOCB_ATOMIC;
+ 	dops = &xfs_direct_write_iomap_ops;
+ }
  else
  	dops = &xfs_direct_write_iomap_ops;
  ...>
  }
