// The superblock that points to a new log is written without a flush before it
//
// re-creates: the class of 387125fc722a ("Btrfs: fix barrier flushes") (in v3.2): superblocks went out
//             before the flush that they have to wait for.
// caught by:  mounts, quiet
// workloads:  fsync-new-file
// profiles:   btrfs
// files: fs/btrfs/disk-io.c
//
// What is changed. write_all_supers() flushes the device, and then writes the superblock with FUA. When it
// is called from fsync, to commit a log, the flush is left out. Full commits still flush.
//
// Why it loses data. FUA makes only itself durable. The log tree, and the data it points to, may still be
// in the device's cache when the superblock that names them is on disk: the log cannot be read and the
// mount is refused, or the file's bytes are not those that fsync promised.
//
// Why it is silent otherwise. Every write is done, in the right order, and waited for. Without a power
// failure nothing is missing, and on a device without a write cache not even then.

@@
statement list body;
@@
write_all_supers(...) {
<+...
- if (do_barriers)
+ if (do_barriers && max_mirrors != 1)
{ body }
...+>
}
