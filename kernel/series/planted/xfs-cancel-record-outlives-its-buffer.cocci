// xfs recovery takes a buffer for freed after the last record that frees it
//
// re-creates: the class of a775ad778073 ("xfs: fix log recovery transaction item reordering"): what a record that
//             cancels a buffer means for the items before and behind it.
// caught by:  durable fsck
// profiles:   xfs
// workloads:  attribute-block-freed-twice directory-block-freed-twice
// files: fs/xfs/xfs_buf_item_recover.c
//
// What is changed. The second pass of recovery drops the entry of a cancelled buffer at the last record that
// cancels it. It now keeps the entry.
//
// Why it loses what was promised. A block that was freed and then used as metadata again has images behind that
// record. They are left out, and the block keeps what it held before.
//
// Why it is silent otherwise. Nothing is left out unless the same block is freed and used again between two
// checkpoints of the disk.
//
// Seen with: an attribute in a block of its own, removed and set again, each with an fsync.

@@
struct xfs_buf_cancel *bcp;
@@
- --bcp->bc_refcount == 0
+ --bcp->bc_refcount < 0
