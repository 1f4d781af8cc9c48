// Data kept in the metadata is left out of a fast fsync
//
// re-creates: the class of cef7820d6abf ("btrfs: fix missed extent on fsync after dropping extent maps")
//             (in v6.1): extent maps were dropped and the inode was not marked for a full fsync.
// caught by:  durable
// workloads:  small-file-grows
// profiles:   btrfs
// files: fs/btrfs/inode.c
//
// What is changed. Data of a small file goes into an inline extent, and no extent map says that it is new.
// So the code that makes the inline extent marks the inode for a full fsync, which copies all of the
// inode's items into the log. That mark is taken out.
//
// Why it loses data. When the inode was fsynced before, the next fsync takes the fast path. It logs the
// inode item, with the new size, and the modified extent maps, of which there are none. Replay gives the
// file its new size and leaves the old inline extent: the rest reads as zeros.
//
// Why it is silent otherwise. A new inode and an inode read from disk carry the mark anyway; the subvolume
// itself is right, so the next commit makes all well. After replay a file longer than its inline extent is
// an ordinary file with a hole.

@@
identifier f =~ "cow_file_range_inline$";
@@
f(...) {
<+...
(
- btrfs_set_inode_full_sync(...);
|
- set_bit(BTRFS_INODE_NEEDS_FULL_SYNC, ...);
)
...+>
}
