// Replayed data is overwritten by the next write, as its space counts as free
//
// re-creates: the class of e688b7252f78 ("Btrfs: fix extent pinning bugs in the tree log"): the free
//             space in memory did not know what replay had taken, and it was given away again.
// caught by:  stable, fsck, quiet
// workloads:  append-fsync-repeated
// profiles:   btrfs
// files: fs/btrfs/extent-tree.c
//
// What is changed. Replay enters an extent of the log into the extent tree and takes it out of the free
// space that the mount holds in memory. The latter is no longer done.
//
// Why it loses data. The first write in the mount that replayed the log gets the same blocks. The extent
// tree has two extents in one place, and the replayed file holds bytes of the other, or fails its
// checksum.
//
// Why it is silent otherwise. On disk all is right after replay, and the next mount reads the free space
// from there: only a write before that does harm. What it does is then loud: checksums that do not fit,
// and counts of space that make the unmount warn.

@@
expression ret;
@@
__exclude_logged_extent(...) {
<+...
- ret = btrfs_remove_free_space(...);
...+>
}
