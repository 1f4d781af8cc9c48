// Blocks of a long attribute value are freed without a record that forbids replay
//
// re-creates: the class of "ext4: call journal revoke when freeing ea_inode blocks" (2017)
// caught by:  durable historical
// profiles: ext4-ea-inode
// workloads: long-value-removed-and-blocks-used-again
// files: fs/ext4/extents.c
//
// What is changed. get_default_free_blocks_flags() takes the blocks of an inode that holds a value for those of a
// file.
//
// Why it loses data. The value went through the journal. Replay writes it again, over the file that has its blocks
// by then.
//
// Why it is silent otherwise. The value has to be in the journal still, and its blocks have to be written by
// somebody who does not journal them.

@@
identifier inode;
@@
  static inline int get_default_free_blocks_flags(struct inode *inode)
  {
- if (S_ISDIR(inode->i_mode) || S_ISLNK(inode->i_mode) || ext4_test_inode_flag(inode, EXT4_INODE_EA_INODE))
+ if (S_ISDIR(inode->i_mode) || S_ISLNK(inode->i_mode))
  	return EXT4_FREE_BLOCKS_METADATA | EXT4_FREE_BLOCKS_FORGET;
- else if (ext4_should_journal_data(inode))
+ else if (ext4_should_journal_data(inode) && !ext4_test_inode_flag(inode, EXT4_INODE_EA_INODE))
  	return EXT4_FREE_BLOCKS_FORGET;
  return 0;
  }
