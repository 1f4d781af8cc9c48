// xfs initializes inodes again whose blocks were freed later in the log
//
// re-creates: fc0d1656964f ("xfs: fix broken icreate log item cancellation") (in v4.3). This takes the use of what
//             it counts out again.
// caught by:  historical durable
// profiles: xfs
// workloads: inode-chunk-reused
// files: fs/xfs/xfs_icreate_item.c
//
// What is changed. Log recovery initializes a chunk of inodes that the log says was allocated. When the log also
// says that its buffers were freed later, it must leave the blocks alone. Now it initializes them all the same.
//
// Why it loses data. All inodes of the chunk are removed, its blocks go to a file as data, which is in no log.
// Recovery writes empty inodes over it.
//
// Why it is silent otherwise. It takes the removal of 64 inodes, in a log that still holds their allocation, and
// data on the very blocks. The filesystem is consistent after it.
//
// Seen with: 66 files made and synced, all removed, fsync; a direct write of 128 KiB, fsync.

@@
identifier cancelled;
expression count;
@@
- if (cancelled) {
+ if (cancelled > count) {
  	if (cancelled != count)
  		xfs_warn(...);
  	...
  	return 0;
  }
