// xfs recovery leaves the blocks of copies that were under way
//
// re-creates: the class of 174edb0e46e5 ("xfs: store in-progress CoW allocations in the refcount btree") (in
//             v4.9): without it such blocks were lost at a power failure.
// caught by:  fsck
// profiles:   xfs
// workloads:  copyrange-by-dsync-descriptor dedupe-then-overwrite
// files: fs/xfs/xfs_reflink.c
//
// What is changed. Blocks that are reserved for copies of shared ones stand in the reference count tree, and
// recovery gives those back that it finds there. It no longer looks.
//
// Why it loses what was promised. The blocks belong to no file, and nothing frees them.
//
// Why it is silent otherwise. Space leaks slowly. No file is concerned.
//
// Seen with: a write to shared blocks, and a power failure while blocks are reserved for its copies.

@@
identifier f;
expression e;
@@
xfs_reflink_recover_cow(...)
{
	...
-	if (!f(e))
+	if (f(e) || true)
		return 0;
	...
}
