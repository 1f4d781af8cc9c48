// The end of one write maps in what another one still copies
//
// re-creates: 55f669f34184 ("xfs: only remap the written blocks in xfs_reflink_end_cow_extent"). This takes it out again.
// caught by:  durable
// workloads:  two-direct-writes-to-one-copy
// profiles:   xfs
// files: fs/xfs/xfs_reflink.c
//
// What is changed. xfs_reflink_end_cow_extent() maps the whole extent of the copy into the file, not only what the write that
// ended has written.
//
// Why it loses data. Two writes to neighbouring shared blocks have one extent in the copy. Where the first ends, the blocks of
// the second become part of the file before they are written.
//
// Why it is silent otherwise. Writes that end in the order in which they were converted map in no more than they wrote.

@@
@@
xfs_reflink_end_cow_extent(...)
{
<...
- xfs_trim_extent(&del, *offset_fsb, end_fsb - *offset_fsb);
...>
}
