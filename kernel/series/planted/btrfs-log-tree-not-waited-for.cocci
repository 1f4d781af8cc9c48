// btrfs writes the superblock that points to a log tree without a wait for the log tree's blocks
//
// re-creates: the class of a writeback that was started and that nobody waited for.
// caught by:  mounts, quiet
// profiles:   btrfs-single
// device:     slow
// workloads:  files-overwritten-and-fsynced-in-turn
// files: fs/btrfs/tree-log.c
//
// What is changed. btrfs_sync_log() starts the writes of the log tree and of the tree of log roots, and waits for
// both before it writes the superblock. The first wait is left out.
//
// Why it loses what was fsynced. The superblock is written after a flush of the device's cache. The flush covers
// what the device has completed; a block of the log tree that is still on its way is not in the cache yet. A
// power failure then finds a superblock that points to a log root, and a log root that points to nothing.
//
// Why it is silent otherwise. The blocks of the log tree are submitted first. A device that completes writes in
// their order has them when the wait for the tree of log roots ends.
//
// Seen with: any fsync, on a device that completes writes out of order.

@@
expression log, mark, log_root_tree, marks;
identifier ret;
@@
btrfs_sync_log(...)
{
<...
- ret = btrfs_wait_tree_log_extents(log, mark);
+ ret = 0;
  if (!ret)
  	ret = btrfs_wait_tree_log_extents(log_root_tree, marks);
...>
}
