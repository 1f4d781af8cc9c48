// A hole punched beside a hole is left out of fsync
//
// re-creates: e6e3dec6c3c2 ("btrfs: update generation of hole file extent item when merging holes"),
//             fstests generic/695. This takes it out again.
// caught by:  durable
// workloads:  punch-beside-hole
// profiles:   btrfs-holes
// absent:     5.10 (there fill_holes() leaves the generation as it was)
// files: fs/btrfs/file.c
//
// What is changed. Without the no-holes feature a hole has an item, and a hole punched beside another
// makes that one's item longer. The item no longer gets the generation of the transaction.
//
// Why it loses data. A full fsync does not copy items of older generations into the log. So the log does
// not hold the longer hole, and after replay the old extent is back where it was punched.
//
// Why it is silent otherwise. With no-holes (the default) there are no such items. A hole of its own gets
// a new item, and fast fsyncs go by the extent map.

@@
@@
fill_holes(...) {
<+...
- btrfs_set_file_extent_generation(...);
...+>
}
