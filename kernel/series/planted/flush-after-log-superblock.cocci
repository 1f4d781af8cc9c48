// The superblock that points to a new log is written before the flush that it has to wait for
//
// re-creates: the class of 387125fc722a ("Btrfs: fix barrier flushes") (in v3.2): superblocks went out
//             before the flush that they have to wait for. Here the flush comes, but after them.
// caught by:  mounts, quiet, durable
// profiles:   btrfs
// workloads:  fsync-new-file
// models:     R
// files: fs/btrfs/disk-io.c
//
// What is changed. write_all_supers() flushes the device, and then writes the superblock with FUA. When it
// is called from fsync, to commit a log, the superblock is written without FUA, and the flush follows it.
//
// Why it loses data. The device may write its cache back in any order. With the superblock on the disk and
// a block of the log tree not yet, the log that the superblock names cannot be read.
//
// Why it is silent otherwise. When fsync returns, everything is on the disk. A device that keeps the order
// in which writes completed always has the log before the superblock: no prefix of the writes shows it.

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

@@
expression e;
@@
write_all_supers(...) {
<+...
  e = wait_dev_supers(dev, max_mirrors);
+ if (max_mirrors == 1)
+ 	barrier_all_devices(fs_info);
...+>
}

@@
@@
write_dev_supers(...) {
<+...
- i == 0 && !btrfs_test_opt(device->fs_info, NOBARRIER)
+ i == 0 && max_mirrors != 1 && !btrfs_test_opt(device->fs_info, NOBARRIER)
...+>
}
