// A block that recovery has written looks older than it is, and a second recovery replays old changes over it
//
// re-creates: 60a4a222713a ("xfs: update metadata LSN in buffers during log recovery") (in v4.9), without its fix
// caught by:  mounts, quiet
// profiles: xfs
// workloads: entries-recovered-then-recovered-again
// files: fs/xfs/xfs_buf_item_recover.c
//
// What is changed. xlog_recover_validate_buf_type() does not note the number of the log entry that a block is recovered from.
//
// Why it loses data. Recovery leaves out what is older than the block on disk. After a complete recovery and a second power failure it
// puts an old change over a newer block. The mixture fails its check, and the mount does, each time.
//
// Why it is silent otherwise. One recovery replays in order, and blocks that are written by a mounted filesystem have their number.

@@
expression bp;
@@
xlog_recover_validate_buf_type(...)
{
...
-	if (bp->b_ops) { ... }
}
