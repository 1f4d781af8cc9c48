// The size on disk passes a gap between the extents of a file
//
// re-creates: "btrfs: use the file extent tree infrastructure" (in v5.7), fstests btrfs/172 and btrfs/206. This takes what it
//             is for out again.
// caught by:  fsck
// profiles:   btrfs-holes
// workloads:  last-block-of-unwritten-data-on-disk punched-behind-end-then-grown
// files: fs/btrfs/file-item.c
//
// What is changed. Without the feature no-holes each part of a file up to its size must have an extent item, be it one of
// a hole. So the size that goes to disk ends at the first gap between the items. It is the size in memory instead.
//
// Why it damages. A commit between the writeback of a later block and that of an earlier one leaves a size with a gap
// below it, which the checker calls an error (file extent discount).
//
// Why it is silent otherwise. The gap reads as zeros, and is gone as soon as the rest of the data is written.

@@
expression i_size, end;
@@
btrfs_inode_safe_disk_i_size_write(...)
{
<+...
- i_size = min(i_size, end + 1);
+ ;
...+>
}

@@
identifier i_size;
@@
btrfs_inode_safe_disk_i_size_write(...)
{
<+...
- i_size = 0;
+ ;
...+>
}
