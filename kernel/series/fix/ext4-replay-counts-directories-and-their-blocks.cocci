// ext4's replay of a fast commit counts a new directory in its group, and the blocks that it gives a directory
//
// profiles:   ext4-fast-commit
// workloads:  unlink-beside-many-new-names link-old-file-into-new-directory
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-17 (docs/findings/EXT4-17.md).
//
// What is changed. Replay makes a new directory, which needs a block, and it adds names, for which a directory may
// need one more. The simple allocator of the replay gives the block and does not count it in the inode. Now the
// blocks are counted after that, as they are for a file. ext4_mark_inode_used() does not know that the inode is a
// directory; so its group counts it here.
//
// How it was checked. With it, and with the fixes of EXT4-1 and EXT4-5, the workloads above keep every promise on 6.12.

@@
identifier dir, inode;
expression ret;
@@
  ext4_fc_replay_create(...)
  {
  <...
  ret = ext4_init_new_dir(NULL, dir, inode);
+ if (!ret) {
+ 	ext4_group_t group = (inode->i_ino - 1) / EXT4_INODES_PER_GROUP(sb);
+ 	struct buffer_head *group_bh = NULL;
+ 	struct ext4_group_desc *desc = ext4_get_group_desc(sb, group, &group_bh);
+
+ 	if (!ext4_test_inode_flag(inode, EXT4_INODE_INLINE_DATA))
+ 		ext4_ext_replay_set_iblocks(inode);
+ 	if (desc) {
+ 		ext4_lock_group(sb, group);
+ 		ext4_used_dirs_set(sb, desc, ext4_used_dirs_count(sb, desc) + 1);
+ 		ext4_group_desc_csum_set(sb, group, desc);
+ 		ext4_unlock_group(sb, group);
+ 		ext4_handle_dirty_metadata(NULL, NULL, group_bh);
+ 		sync_dirty_buffer(group_bh);
+ 	}
+ }
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
