// A removed file of xfs frees the values of its attributes while the leaf still points to them
//
// re-creates: b854e1c4eff3 ("xfs: close crash window in attr dabtree inactivation") (in v7.0). This takes out that a single
//             leaf is emptied first.
// caught by:  fsck
// profiles:   xfs
// config:     xfs-debug
// workloads:  removed-attributes-stop-at-extent-free
// files: fs/xfs/xfs_attr_inactive.c
// absent: 5.10 6.1 (that fix is not in them)
//
// What is changed. When a removed file has one leaf of attributes, the leaf is no longer emptied before the blocks of the
// values are freed.
//
// Why it breaks. The blocks are freed in transactions of their own. Recovery of a log that ends between them goes on to free
// the file, follows the leaf to a value that is gone, and takes that for damage. The file stays on the unlinked list.
//
// Why it is silent otherwise. In life nothing reads the leaf again, and all is freed in one go.
//
// Seen with: a file with two values of 6,000 bytes, with XFS stopped where blocks would be freed.

@@
expression T, dp, bp, error;
@@
  error = xfs_attr3_leaf_inactive(T, dp, bp);
  if (!error)
- 	error = xfs_attr3_leaf_init(*T, dp, 0);
+ 	error = 0;
