// ext4's replay of a fast commit counts the block of extended attributes
//
// profiles:   ext4-fast-commit
// workloads:  many-xattrs-then-write
// files: fs/ext4/extents.c
//
// A fix of our own for EXT4-7 (docs/findings/EXT4-7.md).
//
// What is changed. ext4_ext_replay_set_iblocks() counts one block more for an inode that has a block of extended
// attributes.
//
// How it was checked. With it the workload above keeps the promise that EXT4-7 breaks, on 6.12.

@@
identifier inode, numblks;
@@
  ext4_ext_replay_set_iblocks(struct inode *inode)
  {
  ...
+ if (EXT4_I(inode)->i_file_acl)
+ 	numblks++;
  inode->i_blocks = numblks << (inode->i_sb->s_blocksize_bits - 9);
  ...
  }
