// fdatasync of a directory on xfs does nothing
//
// re-creates: the class of fc0561cefc04 ("xfs: optimise away log forces on timestamp updates for fdatasync") (in
//             v4.4): an fdatasync that forces no log; here of a directory.
// caught by:  durable
// profiles:   xfs
// workloads:  names-after-fdatasync
// files: fs/xfs/xfs_file.c
//
// What is changed. xfs_dir_fsync() returns at once where only data is to be written.
//
// Why it loses what was promised. The entries of a directory are its data.
//
// Why it is silent otherwise. Programs mostly use fsync for directories, which is as it was.
//
// Seen with: any name that was made, renamed or removed, and fdatasync of its directory.

@@
identifier datasync, ip;
statement S;
@@
xfs_dir_fsync(..., int datasync)
{
	struct xfs_inode *ip = ...;
	...
+	if (datasync)
+		return 0;
	return xfs_log_force_inode(ip);
}
