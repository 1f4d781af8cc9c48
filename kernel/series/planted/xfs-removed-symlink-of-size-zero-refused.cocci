// Recovery of xfs refuses a removed symlink whose target is gone already
//
// re-creates: the class of 1ec9307fc066 ("xfs: allow unlinked symlinks and dirs with zero size"), whose exception for
//             files without names this takes out.
// caught by:  mounts, quiet, fsck
// workloads:  long-symlinks-removed-beside-fsyncs
// profiles:   xfs
// files: fs/xfs/libxfs/xfs_inode_buf.c fs/xfs/xfs_symlink.c
// absent: 5.10 (the exception is not in it)
//
// What is changed. A symlink of size 0 is damage, except when it has no name any more. The exception is taken out. The
// removal of a symlink with a long target makes it a regular file when it sets its size to 0, which hides this; as in
// kernels before that, it no longer does.
//
// Why the mount fails. The inode is freed in a later transaction. Recovery of a log that ends between them finds the symlink
// with size 0.
//
// Why it is silent otherwise. In life the inode is freed at once, and a short target has no block.
//
// Seen with: what the removal has to read left the cache, and another file is fsynced while it reads.

@@
expression E;
@@
xfs_dinode_verify(...)
{
<+...
- if (dip->di_version > 1) {
-	if (dip->di_nlink)
-		return __this_address;
- } else {
-	if (E)
-		return __this_address;
- }
+ return __this_address;
...+>
}

@@
identifier ip;
expression E;
@@
xfs_inactive_symlink_rmt(...)
{
<+...
- VFS_I(ip)->i_mode = E;
...+>
}
