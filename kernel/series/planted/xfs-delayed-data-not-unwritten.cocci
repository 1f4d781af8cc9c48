// xfs turns delayed allocations into written extents before their data is written
//
// re-creates: a5949d3faedf ("xfs: force writes to delalloc regions to unwritten") (in v5.8), fstests generic/536 and
//             generic/042. This takes it out again.
// caught by:  historical
// profiles:   xfs-used
// workloads:  last-block-of-unwritten-data-on-disk
// files: fs/xfs/libxfs/xfs_bmap.c
//
// What is changed. When a part of a delayed allocation is written out, xfs allocates blocks for all of it. The extent is
// marked as unwritten until its data is on disk. Now it is not.
//
// Why it exposes data. When the last block is written first, its completion moves the size on disk behind it. After a
// power failure the blocks before it show what they held before: bytes of removed files.
//
// Why it is silent otherwise. Without a power failure all of the data is written sooner or later.

@@
expression bma;
@@
- bma.flags = XFS_BMAPI_PREALLOC;
+ bma.flags = 0;
