// What was written before a rename is left out of the fsync after it
//
// re-creates: fstests generic/322, its second case: a rename between two fsyncs made btrfs drop modified
//             extents.
// caught by:  durable
// workloads:  written-out-then-renamed
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. A full fsync empties the inode's list of modified extent maps, because it logs all
// extents by their items. Logging only that the inode exists, as a rename or link does, must leave the
// list alone. Now it empties it, too.
//
// Why it loses data. The next fast fsync logs what is in the list: nothing. It does log the inode item
// with its size, so the file comes back with zeros where the last writes were.
//
// Why it is silent otherwise. It needs extents that were written out but not yet fsynced, and a new name,
// in one transaction. The subvolume is right, and the next commit mends all.

@@
identifier inode_only;
statement S1, S2;
@@
btrfs_log_inode(...) {
<+...
if (fast_search) S1
else
- if (inode_only == LOG_INODE_ALL)
S2
...+>
}
