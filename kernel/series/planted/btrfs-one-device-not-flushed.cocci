// Only the first of several devices is flushed before the superblocks
//
// re-creates: the class of "Btrfs: fix barrier flushes" (in v3.2), by which the barriers of all devices complete
//             before any superblock is written
// caught by:  mounts
// models:   R M
// profiles: btrfs-raid1 btrfs-raid10
// workloads: chattr-fsync names-after-fsync
// files: fs/btrfs/disk-io.c
//
// What is changed. barrier_all_devices() sends a FLUSH to the device with ID 1 alone.
//
// Why it loses data. The superblock of the other device is written with FUA, and the trees that it leads to may
// still be in that device's cache. Each block is there twice, so it is read from the first device; but should
// that one be lost in the same power failure, the other has no trees.
//
// Why it is silent otherwise. On one device there is nothing to leave out; with both there, the first has it all.

@@
expression dev;
@@
- write_dev_flush(dev);
+ if (dev->devid == 1)
+ 	write_dev_flush(dev);
