// The end of a hole that overlaps an older one is left out of a fast fsync
//
// re-creates: "Btrfs: fix hole punching when using the no-holes feature"; fstests generic/177. This takes its
//             condition out again.
// caught by:  durable
// workloads:  punch-overlapping-holes
// profiles:   btrfs
// files: fs/btrfs/file.c
//
// What is changed. Where a hole is punched, the extents under it are dropped and an extent map of the whole
// hole is put in their place. With the no-holes feature an older hole at the end of the range has no item, so
// the place where dropping stopped may lie in front of it. The map is then to reach to the end of the range all
// the same. Now it ends where dropping stopped.
//
// Why it loses data. The map of the older hole was dropped with the others, before it was logged. A fast fsync
// logs extent maps only, so nothing in the log says that there is a hole. Replay keeps the old extent, whose
// bytes come back.
//
// Why it is silent otherwise. Without an item a hole reads as zeros whatever map there is. A full fsync finds
// holes by the items around them.
//
// Seen with: a file of 32 KiB, fsynced; holes at 24 KiB, at 16 KiB to behind the end, at 8 KiB; fsync.

@@
expression dropped_end, end;
@@
- if (dropped_end <= end)
- 	dropped_end = end + 1;
