// ext4 syncs after a direct write where no fast commit keeps account of changes
//
// profiles:   ext4-fast-commit
// workloads:  direct-dsync-beside-new-symlink
// files: fs/ext4/inode.c
//
// A fix of our own for EXT4-19 (docs/findings/EXT4-19.md).
//
// What is changed. ext4_inode_datasync_dirty() takes an inode for synced that is in no list of fast commits. After a change
// that no fast commit can have, none is put there until the next full commit. Now it is not synced in that time.
//
// How it was checked. With it the workload above keeps the promise that EXT4-19 breaks, on 6.12.

@@
expression inode;
@@
  ext4_inode_datasync_dirty(...)
  {
  	<...
- 	return !list_empty(&EXT4_I(inode)->i_fc_list);
+ 	return ext4_test_mount_flag(inode->i_sb, EXT4_MF_FC_INELIGIBLE) ||
+ 	       !list_empty(&EXT4_I(inode)->i_fc_list);
  	...>
  }
