// ext4's replay of a fast commit counts the blocks that it gives a directory
//
// profiles:   ext4-fast-commit
// workloads:  unlink-beside-many-new-names link-old-file-into-new-directory
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-17 (docs/findings/EXT4-17.md).
//
// What is changed. Replay makes a new directory, which needs a block, and it adds names, for which a directory may
// need one more. The simple allocator of the replay gives the block and does not count it in the inode. Now the
// blocks are counted after that, as they are for a file.
//
// How it was checked. With it, and with fix/ext4-fast-commit-waits-for-its-blocks, unlink-beside-many-new-names keeps
// every promise on 6.12.

@@
identifier dir, inode;
expression ret;
@@
  ext4_fc_replay_create(...)
  {
  <...
  ret = ext4_init_new_dir(NULL, dir, inode);
+ if (!ret && !ext4_test_inode_flag(inode, EXT4_INODE_INLINE_DATA))
+ 	ext4_ext_replay_set_iblocks(inode);
  ...>
  }

@@
identifier dir, inode, dentry_inode;
expression ret;
@@
  ext4_fc_replay_link_internal(...)
  {
  ...
  ret = __ext4_link(dir, inode, dentry_inode);
+ if (!ret && !ext4_test_inode_flag(dir, EXT4_INODE_INLINE_DATA))
+ 	ext4_ext_replay_set_iblocks(dir);
  ...
  }
