// Recovery of an exchange of blocks gives the inode its checksum before it looks at it
//
// profiles:   xfs
// workloads:  defragment-of-many-extents
// absent:     5.10 (not seen there)
// files: fs/xfs/xfs_inode_item_recover.c
//
// For XFS-10 (docs/findings/XFS-10.md). It does what Ye Bin's "xfs: fix checksum error when call
// xfs_recover_inode_owner_change()" (linux-xfs, 2025-12-13, not merged as far as seen) does, in lines of our own.
//
// What is changed. xlog_recover_inode_commit_pass2() computes the checksum of the inode that it has recovered before it
// changes the owner in the blocks of its map, and not only after that.
//
// Why. The owner is changed by means of an inode in memory, which is made from the recovered one. That is refused where the
// checksum is wrong.
//
// How it was checked. With it the states that XFS-10 makes unmountable are recovered, on 6.12 and 7.2. XFS-11, which XFS-10 hides
// on a stock kernel, shows then: 1 of 5 recordings of the workload on 6.12 has a state that is refused.

@@
expression E1, E2;
@@
  xlog_recover_inode_commit_pass2(...) {
  <...
- if (E1 && E2)
- 	error = xfs_recover_inode_owner_change(mp, dip, in_f, buffer_list);
+ if (E1 && E2) {
+ 	xfs_dinode_calc_crc(mp, dip);
+ 	error = xfs_recover_inode_owner_change(mp, dip, in_f, buffer_list);
+ }
  ...>
  }
