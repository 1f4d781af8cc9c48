// A clone that makes a file longer does not log its size on xfs
//
// re-creates: the class of 862bb360ef56 ("xfs: reflink extents from one file to another") (in v4.9), which updates
//             both sizes; fstests generic/501.
// caught by:  durable
// profiles:   xfs
// workloads:  clone-by-sync-descriptor copyrange-then-fsync
// files: fs/xfs/xfs_reflink.c
//
// What is changed. xfs_reflink_remap_extent() sets the size in memory and the size that is logged. It no longer
// sets the second one.
//
// Why it loses what was promised. The extents are there after a power failure, behind the end of the file.
//
// Why it is silent otherwise. The size in memory is right. A later write at the end sets both.
//
// Seen with: clone of a file into an empty one, and fsync.

@@
struct xfs_inode *ip;
identifier newlen;
@@
xfs_reflink_remap_extent(...)
{
	<+...
(
-	ip->i_disk_size = newlen;
|
-	ip->i_d.di_size = newlen;
)
	...+>
}
