// xfs does not log the inode of a directory that gets a name
//
// re-creates: fstests generic/547, where fssum compares the times of directories; the class of 5338e43abbab
//             ("Btrfs: fix wrong ctime and mtime of a directory after log replay").
// caught by:  durable
// profiles:   xfs
// workloads:  large-directory-fsynced-keeps-its-times
// files: fs/xfs/xfs_inode.c fs/xfs/libxfs/xfs_dir2.c
//
// What is changed. A transaction that makes a name logs the inode of the directory for its times and size. It no
// longer does.
//
// Why it loses what was promised. Where the names are in blocks, nothing else of the transaction is of that inode.
// Its fsync then finds nothing to force, and returns: the name is lost, and with it the times.
//
// Why it is silent otherwise. A small directory has its names in the inode, which is logged with them. A file that
// is fsynced takes its name along.
//
// Seen with: a new name in a directory of 24 names, and an fsync of the directory.

@@
identifier tp, dp;
identifier f =~ "^xfs_create$|^xfs_dir_create_child$";
@@
f(...)
{
	<+...
-	xfs_trans_log_inode(tp, dp, XFS_ILOG_CORE);
	...+>
}
