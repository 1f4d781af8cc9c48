// ext4 commits in full where a fast commit would have written blocks behind the end of a file
//
// profiles:   ext4-fast-commit
// workloads:  fsync-during-extending-direct-write
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-9 (docs/findings/EXT4-9.md).
//
// What is changed. Between the end of a direct write and the handle that sets the size the inode is an orphan, and a
// full commit has the list of orphans. A fast commit has not. It gives up where it meets such a range; then the
// journal commits.
//
// How it was checked. With it the workload above keeps the promise that EXT4-9 breaks, on 6.12 and 7.2.

@looked_up@
@@
  ext4_fc_write_inode_data(...)
  {
  ...
  struct ext4_map_blocks map;
  ...
  }

@depends on looked_up@
identifier inode;
symbol map, ei, fc_ext;
@@
  ext4_fc_write_inode_data(struct inode *inode, ...)
  {
  <...
+ if (!(map.m_flags & EXT4_MAP_UNWRITTEN) &&
+     (loff_t)(map.m_lblk + map.m_len - 1) << inode->i_blkbits >= ei->i_disksize)
+ 	return -ECANCELED;
  fc_ext.fc_ino = cpu_to_le32(inode->i_ino);
  ...>
  }

// From 7.2 on the ranges were looked up before.
@depends on !looked_up@
identifier inode;
symbol range, fc_ext;
@@
  ext4_fc_write_inode_data(struct inode *inode, ...)
  {
  <...
+ if (!range->unwritten &&
+     (loff_t)(range->lblk + range->len - 1) << inode->i_blkbits >= EXT4_I(inode)->i_disksize)
+ 	return -ECANCELED;
  fc_ext.fc_ino = cpu_to_le32(inode->i_ino);
  ...>
  }
