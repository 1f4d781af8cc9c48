// A move on xfs does not log the inode of the directory that gets the name
//
// re-creates: the class of planted/xfs-directory-inode-not-logged-with-new-name, for a rename. fsync of a directory forces
//             the log up to the last change of its inode.
// caught by:  durable
// profiles:   xfs
// workloads:  moved-into-a-large-directory
// files: fs/xfs/libxfs/xfs_dir2.c
// absent: 5.10, 6.1 (a rename stands in another file)
//
// What is changed. A rename from one directory into another logs the inode of the first alone.
//
// Why it loses what was promised. fsync of the second one finds nothing to force, and the name is in no log.
//
// Why it is silent otherwise. A small directory lies in its inode, which is logged with each name. The name is right in
// memory, and is logged with whatever is next.
//
// Seen with: rename into a directory with 40 names, fsync of it.

@@
expression tp, dp;
@@
xfs_dir_rename_children(...)
{
<...
- if (new_parent)
-	xfs_trans_log_inode(tp, dp, XFS_ILOG_CORE);
...>
}
