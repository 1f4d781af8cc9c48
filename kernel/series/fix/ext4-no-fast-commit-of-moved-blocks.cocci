// A transaction that moved blocks is committed in full
//
// upstream:   690558921d9f ("ext4: mark move extents fast-commit ineligible"), in v7.0
// profiles:   ext4-fast-commit
// workloads:  overwritten-after-defragment
// absent:     5.10 6.1 (not tried there)
// absent:     7.2 (it has the fix)
// files: fs/ext4/move_extent.c
//
// For EXT4-26 (docs/findings/EXT4-26.md).
//
// What is changed. EXT4_IOC_MOVE_EXT marks the transaction in which it exchanges blocks as ineligible for a fast commit. So the
// next fsync makes a full commit.
//
// How it was checked. With it 5 of 5 recordings of the workload on 6.12, of 45 states each, keep every promise.

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
