// f2fs reserves no block behind the end of a file for a hole that ends there
//
// files: fs/f2fs/file.c
//
// A fix of our own for what FINDINGS.md tells ("A hole punched across the end of a file makes it larger").
//
// What is changed. A hole that ends within a block sets the first part of that block to zero, and reserves the block
// if there is none. Behind the end of the file there is nothing to set to zero, so the block is now left alone.
// Recovery of an fsynced file takes the size from the last block that it finds, unless the inode says that the size
// is to be kept, which only other modes of fallocate do.
//
// How it was checked. With it punch-hole-ends-behind-the-end keeps every promise.

@@
typedef loff_t;
identifier f =~ "^(f2fs_)?punch_hole$";
identifier inode, pg_end, off_end, ret;
@@
f(struct inode *inode, ...)
{
<...
- if (off_end) {
+ if (off_end && ((loff_t)pg_end << PAGE_SHIFT) < i_size_read(inode)) {
	ret = fill_zero(inode, pg_end, 0, off_end);
	...
  }
...>
}
