// An fsync on btrfs does not wait for the file's data
//
// re-creates: the class of 48778179ce80 ("btrfs: make fast fsyncs wait only for writeback") (in v5.10): how much of
//             its data's way to disk a fast fsync has to wait for, here nothing.
// caught by:  durable, consistent
// profiles:   btrfs-single
// device:     slow
// workloads:  files-overwritten-and-fsynced-in-turn
// files: fs/btrfs/file.c
//
// What is changed. A fast fsync starts the writeback of the file and waits for it before it logs the inode. The
// wait is left out; checksums come from the ordered extents, so the log is complete.
//
// Why it loses what was fsynced. The log tree points to an extent that is still on its way to the device when the
// flush before the superblock comes. After a power failure the file has what was there before, and reads fail
// with a checksum error.
//
// Why it is silent otherwise. The data is submitted before the log tree, whose blocks the fsync does wait for. A
// device that completes writes in their order has the data by then.
//
// Seen with: write to a file that was fsynced before, its fsync, on a device that completes writes out of order.

@@
identifier ret;
expression mapping, start, end;
@@
btrfs_sync_file(...)
{
<...
- ret = filemap_fdatawait_range(mapping, start, end);
+ ret = 0;
...>
}
