// Recovery frees files without the blocks that were set aside for the trees, and the filesystem shuts down
//
// re-creates: 81ed94751b15 ("xfs: fix log intent recovery ENOSPC shutdowns when inactivating inodes") (in v5.11), without its fix
// caught by:  mounts, quiet
// profiles: xfs-1k-blocks
// workloads: unlinked-file-shares-every-second-block
// files: fs/xfs/xfs_mount.c
//
// What is changed. xfs_mountfs() reserves nothing for the trees while recovery frees what had no name any more.
//
// Why it loses data. To free a shared extent may need a new block in the tree of references. It is taken from a transaction that has
// reserved none, so the filesystem shuts down, and the mount fails each time.
//
// Why it is silent otherwise. A mounted filesystem has those reservations, and recovery mostly needs no block for its trees.

@@
expression mp, error;
@@
xfs_mountfs(...)
{
<...
-	error = xfs_fs_reserve_ag_blocks(mp);
-	if (error && error == -ENOSPC)
-		xfs_warn(mp, ...);
	error = xfs_log_mount_finish(mp);
-	xfs_fs_unreserve_ag_blocks(mp);
...>
}
