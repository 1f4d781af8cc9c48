// Replay reserves the blocks of the log before the free space is known, and they are given away again
//
// re-creates: 9ad6d91f056b ("btrfs: fix log replay failure due to race with space cache rebuild") (in v5.11), a part of it
// caught by:  durable, quiet
// profiles: btrfs
// workloads: attributes-recovered-then-recovered-again recovered-reservation-is-written entries-recovered-then-recovered-again
// files: fs/btrfs/extent-tree.c
//
// What is changed. btrfs_pin_extent_for_log_replay() does not wait until the free space of the block group has been read.
//
// Why it loses what was durable. The blocks of the log are in no tree, so they are read as free afterwards. Replay writes its own
// blocks over those that it reads, and does not see the rest of the log; or the same block is free twice.
//
// Why it is silent otherwise. Only replay takes blocks that no tree knows of.

@@
expression cache, e;
@@
btrfs_pin_extent_for_log_replay(...)
{
<...
e = btrfs_cache_block_group(cache,
-	true
+	false
	);
...>
}
