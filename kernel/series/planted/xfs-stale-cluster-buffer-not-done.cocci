// The buffer of a freed cluster of inodes is not marked as read
//
// re-creates: 348a1983cf4c ("xfs: fix unlink vs cluster buffer instantiation race") (in v6.10). This takes its mark out
//             again.
// caught by:  quiet
// config:     xfs-debug
// workloads:  chunk-freed-without-its-buffer
// profiles:   xfs
// files: fs/xfs/xfs_inode.c
// absent: 5.10 (there the buffer of an inode is not taken when the inode is logged)
//
// What is changed. When the last inode of a chunk is freed, the buffers of the chunk are made stale, whether they were read
// from the disk before or not. They are marked as read all the same, for the inode itself takes its buffer once more at the
// end of the transaction. The mark is left out.
//
// Why it breaks. The second taking finds a buffer that was never read: a failed assertion.
//
// Why it is silent otherwise. Mostly the buffer is in memory, since the removal of the name has used it.
//
// Seen with: the last file of a chunk is removed while it is open, its buffer is written and leaves the cache, and the file
// is closed.

@@
@@
xfs_ifree_cluster(...)
{
<...
- bp->b_flags |= XBF_DONE;
...>
}
