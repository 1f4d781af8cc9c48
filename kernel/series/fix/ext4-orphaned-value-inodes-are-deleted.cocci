// ext4's recovery deletes inodes that hold the values of attributes
//
// profiles:   ext4-ea-inode
// workloads:  removed-synchronous-file-with-a-long-value young-attributes-of-a-removed-file
// absent:     5.10, 6.1 (whether the bug shows there was not tried)
// files: fs/ext4/inode.c
//
// A fix of our own for EXT4-28 (docs/findings/EXT4-28.md).
//
// What is changed. An inode that holds a value, and that has no link, is no error where an ordinary inode was asked for:
// only the recovery of orphans meets one.
//
// How it was checked. With it these workloads keep every promise, which they do not on stock 6.12 and 7.2.

@@
expression inode;
identifier flags;
@@
  if (
- (EXT4_I(inode)->i_flags & EXT4_EA_INODE_FL)
+ (EXT4_I(inode)->i_flags & EXT4_EA_INODE_FL) && inode->i_nlink
  ) {
  if (flags & EXT4_IGET_HANDLE)
  	return -ESTALE;
  ...
  }
