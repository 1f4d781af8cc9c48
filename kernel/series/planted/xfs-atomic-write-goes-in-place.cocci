// xfs writes atomically as if nobody had asked for that
//
// re-creates: the class of what "xfs: add xfs_file_dio_write_atomic()" (in v6.16) is for: where the device cannot write so
//             much at once, new blocks are written and mapped in by one transaction.
// caught by:  atomic
// profiles:   xfs
// absent:     5.10 6.1 6.12 (no atomic writes of several blocks)
// workloads:  atomic-write-over-pieces
// files: fs/xfs/xfs_file.c
//
// What is changed. A write with RWF_ATOMIC that is longer than what the device writes at once goes to the blocks that the
// file has, as any direct write.
//
// Why it tears. A range of several extents is several requests to the device. A power failure between them leaves some of
// the new bytes beside old ones.
//
// Why it is silent otherwise. All of it is written. Of a range in one extent there is but one request.
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
