// xfs recovery forgets how often a buffer was freed in the log
//
// re-creates: the class of 84a5b7300c72 ("xfs: don't account buffer cancellation during log recovery readahead"):
//             the count of cancel records comes to zero before the last of them, and recovery replays cancelled
//             buffers.
// caught by:  historical durable
// profiles:   xfs
// workloads:  attribute-block-freed-twice directory-block-freed-twice
// files: fs/xfs/xfs_buf_item_recover.c
//
// What is changed. The first pass of recovery counts how many records in the log cancel a buffer. The count stays
// at one.
//
// Why it loses what was promised. The second pass drops the entry at the first of these records. Images of the
// buffer between the first and the last one are replayed, and the block is data of another file by then.
//
// Why it is silent otherwise. A block has to be freed, used as metadata again, and freed once more, all in one
// log, and then be taken by data.
//
// Seen with: an attribute in a block of its own, removed, set and removed again, each with an fsync; a direct
// write to the free blocks.

@@
struct xfs_buf_cancel *bcp;
@@
- bcp->bc_refcount++;
