// The tree of attributes of a removed file points to blocks that are gone
//
// re-creates: b854e1c4eff3 ("xfs: close crash window in attr dabtree inactivation") (in v7.0). This takes out that a pointer is
//             removed with its block.
// caught by:  quiet, fsck
// workloads:  young-attributes-of-a-removed-file
// profiles:   xfs
// files: fs/xfs/xfs_attr_inactive.c
// absent: 5.10 6.1 (that fix is not in them)
//
// What is changed. The attributes of a removed file are freed leaf by leaf, each in a transaction of its own that cancels the
// leaf. The root keeps its pointer to the leaf.
//
// Why it breaks. Recovery does not replay a block that is cancelled later, so on the disk is what it held before. It goes on to
// free the file, follows the pointer, and finds no leaf.
//
// Why it is silent otherwise. A leaf that was written in place since it was made is still there, cancelled or not. And the
// leaves are freed in one go, unless one of them has to be read.

@@
@@
xfs_attr3_node_inactive(...)
{
...
  int error;
+ int gone = 0;
...
}

@@
symbol ichdr, child_fsb, mp;
expression T, dp, bp;
@@
- xfs_attr3_node_entry_remove(T, dp, bp, 0);
+ gone++;
  xfs_da3_node_hdr_from_disk(mp, &ichdr, bp->b_addr);
+ ichdr.count -= gone;
  bp = NULL;
  if (ichdr.count > 0) {
- child_fsb = be32_to_cpu(ichdr.btree[0].before);
+ child_fsb = be32_to_cpu(ichdr.btree[gone].before);
  ...
  }
