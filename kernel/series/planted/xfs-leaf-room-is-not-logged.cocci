// The note of how much room a block of a directory has is changed and not logged
//
// re-creates: the class of a change in memory that the log never gets; xfs_dir2_leaf_removename() reports what comes of it as
//             corruption (xfs_buf_corruption_error())
// caught by:  usable fsck quiet
// profiles: xfs
// workloads: names-removed-from-full-leaves
// files: fs/xfs/libxfs/xfs_dir2_leaf.c
//
// What is changed. xfs_dir2_leaf_removename() logs the new value of the note only where the table of free space
// was built anew.
//
// Why it loses data. After the power failure the note differs from the block that it is of. Further names in that
// block cannot be removed.
//
// Why it is silent otherwise. In a running filesystem the value in memory is right, and any other change of that
// part of the leaf logs it, too.

@@
identifier args, lbp, db, bestsp, bf;
@@
  bestsp[db] = bf[0].length;
+ if (needscan)
  xfs_dir3_leaf_log_bests(args, lbp, db, db);
