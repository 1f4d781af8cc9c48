// A node that the cleaner moves keeps the marks of an old fsync, and recovery stops at it
//
// re-creates: c3e238bd1f56 ("f2fs: fix fsck inconsistency caused by FGGC of node block"), a part of it
// caught by:  durable, quiet
// profiles: f2fs-segment-end
// workloads: fsynced-files-relocated-before-the-next-fsync
// files: fs/f2fs/node.c
//
// What is changed. __write_node_page() leaves the marks by which recovery knows an fsync as they are, where the cleaner moves a node.
//
// Why it loses what was durable. Recovery meets that node between those of later fsyncs. It has the mark of a new file, which it no longer is:
// recovery ends with EINVAL, and all that was fsynced since the checkpoint is lost.
//
// Why it is silent otherwise. The cleaner must move a node that was fsynced, and an fsync must follow before the next checkpoint.

@@
expression P, do_fsync, E, C;
identifier f =~ "^__write_node_(page|folio)$";
@@
f(...)
{
<...
+	if (io_type != FS_GC_NODE_IO) {
	set_dentry_mark(P, false);
	set_fsync_mark(P, do_fsync);
	if (C)
		set_dentry_mark(P, E);
+	}
...>
}
