// A reservation whose split found no room counts as written before it is
//
// re-creates: feaf2a80e78f ("ext4: don't set EXT4_GET_BLOCKS_CONVERT when splitting before submitting I/O") (in v7.0). This sets
//             it again.
// caught by:  contained, historical
// faults:     sweep
// workloads:  write-fails-without-the-blocks-for-splits
// profiles:   ext4-bigalloc
// absent:     5.10 6.1 7.2 (that fix is not in the first two, and 7.2 splits in another way)
// files: fs/ext4/extents.c
//
// What is changed. A reservation is split before a write into it is sent to the device. The split is told to convert.
//
// Why it loses data. Where it finds no block for the tree, what lies around the write is zeroed, and all counts as written. The
// write itself is still on its way: when it fails, its blocks show what they held before.
//
// Why it is silent otherwise. ext4 keeps a fiftieth of the blocks, at most 4,096, for such splits. After a power failure
// it shows only where a commit overtakes the write.

@@
expression handle, inode, map, path, flags, allocated;
@@
ext4_ext_handle_unwritten_extents(...)
{
<...
  ext4_split_convert_extents(handle, inode, map, path,
- flags,
+ flags | EXT4_GET_BLOCKS_CONVERT,
  allocated)
...>
}
