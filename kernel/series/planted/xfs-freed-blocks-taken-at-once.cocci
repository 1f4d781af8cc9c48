// xfs gives freed blocks away before it is on disk that they are free
//
// re-creates: the class of fd45e4784164 ("xfs: Ensure we force all busy extents in range to disk") (in v2.6.34);
//             fstests generic/042.
// caught by:  historical durable
// profiles:   xfs
// workloads:  truncated-blocks-taken-by-other-file
// files: fs/xfs/xfs_extent_busy.c
//
// What is changed. Freed extents are called busy until the transaction that frees them is on disk. None is called
// so any more.
//
// Why it loses what was promised. Another file takes the blocks and writes its data, which needs no log. After a
// power failure the first file still has the blocks, with the bytes of the other one.
//
// Why it is silent otherwise. It takes a power failure between the write and the next log force. The trees are
// right.
//
// Seen with: truncate to 0, a direct write of as much to a new file, and an fsync of that.

@@
identifier f =~ "^xfs_extent_busy_insert(_list)?$";
identifier parent;
@@
f(...)
{
	...
	struct rb_node *parent = NULL;
+	return;
	...
}
