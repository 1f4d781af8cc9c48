// xfs maps blocks of a copy in that were not written yet
//
// re-creates: 55f669f34184 ("xfs: only remap the written blocks in xfs_reflink_end_cow_extent"). This takes its limit out
//             again.
// caught by:  historical, durable
// workloads:  part-of-shared-file-written-out
// profiles:   xfs xfs-used
// files: fs/xfs/xfs_reflink.c
// absent: 5.10 (the limit has another form)
//
// What is changed. A write to blocks that two files share goes to new blocks, which are mapped into the file when they are
// written. As many are mapped in as the extent of new blocks has, and no longer as many as were written.
//
// Why it exposes data. What the new blocks held before is in the file after a power failure.
//
// Why it is silent otherwise. The page cache has the right bytes, and writes them later.
//
// Seen with: a clone is overwritten in large parts, and some of it is written out.

@@
@@
- xfs_trim_extent(&del, *offset_fsb, end_fsb - *offset_fsb);
