// xfs maps new blocks into a file although writing them failed
//
// re-creates: the class of fstests generic/267 and its kin (a write to shared blocks that fails): a copy on write that
//             is completed after an error of the device.
// caught by:  contained
// profiles:   xfs
// faults:     sweep
// workloads:  mapped-write-to-shared-fails
// files: fs/xfs/xfs_aops.c
//
// What is changed. A write to blocks that two files share goes to new blocks, which take the place of the old ones when
// the write has succeeded. When it failed they are given back. Now they take the place all the same.
//
// Why it loses data. The old bytes of the written file, which were durable, are exchanged for whatever the new blocks held.
//
// Why it is silent otherwise. It needs an error of the device, which fsync reports; the other file keeps its blocks.

@@
expression ip, offset, size;
@@
- xfs_reflink_cancel_cow_range(ip, offset, size, true);
+ xfs_reflink_end_cow(ip, offset, size);
