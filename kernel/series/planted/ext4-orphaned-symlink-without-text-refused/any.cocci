// ext4 refuses an orphaned symlink whose text was never written
//
// re-creates: the class of "ext4: do not check fast symlink during orphan recovery" (2026): a check of what is read from the
//             disk that does not know what an orphan may look like; fstests generic/475.
// caught by:  quiet, fsck
// profiles:   ext4-sync
// workloads:  names-when-full
// files: fs/ext4/inode.c
//
// What is changed. A symlink of size 0 is an error, as in v7.0, which then checked orphans as well.
//
// Why it is wrong. A symlink for whose text there was no block is an orphan of size 0 until its inode is freed. If the power
// fails in between, recovery takes it for damage, and neither this inode nor later ones of the list are freed.
//
// Why it is silent otherwise. It needs a commit between the failed call and the end of its inode.

@@
identifier ei, inode;
@@
__ext4_iget(...)
{
<...
+ if (inode->i_size == 0) {
+ 	ext4_error_inode(inode, function, line, 0, "invalid fast symlink length");
+ 	ret = -EFSCORRUPTED;
+ 	goto bad_inode;
+ }
  nd_terminate_link(ei->i_data, inode->i_size, ...);
...>
}
