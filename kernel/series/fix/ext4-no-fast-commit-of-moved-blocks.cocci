// A file whose blocks were moved is not part of a fast commit
//
// upstream:   690558921d9f ("ext4: mark move extents fast-commit ineligible"), in v7.0
// profiles:   ext4-fast-commit
// workloads:  overwritten-after-defragment
// absent:     5.10 6.1 (not tried there) 7.2 (has it)
// files: fs/ext4/move_extent.c
//
// For EXT4-26 (docs/findings/EXT4-26.md).
//
// What is changed. A transaction in which EXT4_IOC_MOVE_EXT exchanges blocks is committed as a whole.
//
// How it was checked. With it the workload keeps its promises on 6.12.

@@
identifier f = move_extent_per_page;
expression inode, kind, jblocks;
@@
  f(...) {
  ...
  handle = ext4_journal_start(inode, kind, jblocks);
  if (IS_ERR(handle)) {
  ...
  }
+ ext4_fc_mark_ineligible(inode->i_sb, EXT4_FC_REASON_RESIZE, handle);
  ...
  }
