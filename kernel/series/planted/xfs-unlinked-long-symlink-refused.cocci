// Recovery of xfs refuses a removed symlink whose target is gone already
//
// re-creates: 1ec9307fc066 ("xfs: allow unlinked symlinks and dirs with zero size"). This takes its exception out again.
// caught by:  mounts, quiet
// workloads:  removed-long-symlink-stops-at-extent-free
// profiles:   xfs
// files: fs/xfs/libxfs/xfs_inode_buf.c
// absent: 5.10 (the exception is not in it)
//
// What is changed. A symlink of size 0 is damage, except when it has no name any more. The exception is taken out.
//
// Why the mount fails. The removal of a symlink with a long target sets its size to 0, frees the block of the target, and
// frees the inode in a later transaction. Recovery of a log that ends between them finds the symlink with size 0.
//
// Why it is silent otherwise. In life the inode is freed at once, and a short target has no block.
//
// Seen with: removal of a symlink with a long target that stops before the inode is freed.

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
