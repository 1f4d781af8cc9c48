// xfs logs a pointer of an unlinked list as if it were part of any buffer
//
// re-creates: the class of ccf7c23fc129 ("xfs: Ensure inode allocation buffers are fully replayed") (in v2.6.35): what kind
//             of buffer the log says it is decides what recovery takes from it.
// caught by:  fsck, quiet
// profiles:   xfs
// workloads:  middle-of-one-list-closed
// absent:     5.10 (the pointer is logged by fs/xfs/xfs_inode.c)
// files: fs/xfs/xfs_iunlink_item.c
//
// What is changed. The buffer of inodes in which a pointer to the next inode of an unlinked list changes is no longer
// marked as one of inodes.
//
// Why it loses what was promised. Of a buffer of inodes recovery takes these pointers alone. Of another buffer it takes each
// piece of 128 bytes that was logged, and with the pointer that is the core of the inode, as it was when the buffer was
// last written. A file without a name has its link again, and is never freed.
//
// Why it is silent otherwise. A file that is removed goes to the head of its list, and is logged itself. Only when one in
// the middle is freed does the pointer of another file change, and a list has one file mostly.
//
// Seen with: three open files without names, whose inode numbers are 64 apart; the second is closed.

@@
expression tp, ibp;
@@
xfs_iunlink_log_dinode(...)
{
<...
- xfs_trans_inode_buf(tp, ibp);
...>
}
