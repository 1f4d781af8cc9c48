// xfs replays buffers that were freed later in the log
//
// re-creates: the class of fc0d1656964f ("xfs: fix broken icreate log item cancellation") (in v4.3): log
//             recovery that does not see that a buffer was cancelled writes over what has taken its place.
// caught by:  historical durable
// profiles: xfs
// workloads: extent-tree-block-reused attribute-block-reused
// files: fs/xfs/xfs_buf_item_recover.c
//
// What is changed. xlog_is_buffer_cancelled() compares the length in bytes with that in sectors and finds
// nothing.
//
// Why it loses data. A block of an extent tree is freed: the log says that its earlier images are not to be
// replayed. The block goes to a file as data, which is in no log. Recovery replays the images over it.
//
// Why it is silent otherwise. It takes a crash while the log still holds the images and the block is
// already in use as data. The tree that is replayed is consistent.
//
// Seen with: a file with more extents than fit into its inode, synced; unlink; sync; a new file that takes
// its blocks, fsynced.

@@
identifier log, blkno, len;
@@
  xlog_is_buffer_cancelled(...)
  {
- return xlog_find_buffer_cancelled(log, blkno, len) != NULL;
+ return xlog_find_buffer_cancelled(log, blkno, BBTOB(len)) != NULL;
  }
