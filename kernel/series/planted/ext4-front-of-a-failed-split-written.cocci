// The front of a reservation counts as written where its split found no room
//
// re-creates: 1bf6974822d1 ("ext4: don't zero the entire extent if EXT4_EXT_DATA_PARTIAL_VALID1") (in v7.0). This takes it out
//             again.
// caught by:  durable, historical
// workloads:  split-without-the-blocks-for-splits
// profiles:   ext4-bigalloc-ordered
// absent:     5.10 6.1 7.2 (that fix is not in the first two, and 7.2 splits in another way)
// files: fs/ext4/extents.c
//
// What is changed. A write into the middle of a reservation splits it twice. Where the first split, behind the write, finds no
// block for the tree, what lies behind is zeroed, and the whole reservation counts as written.
//
// Why it loses data. The front was neither written nor zeroed: it shows what its blocks held before. The second split merges
// its two halves again, as both are written.
//
// Why it is silent otherwise. ext4 keeps a fiftieth of the blocks, at most 4,096, for such splits.

@@
@@
ext4_split_extent(...)
{
<...
- map->m_lblk > ee_block ? EXT4_EXT_DATA_PARTIAL_VALID1 : EXT4_EXT_DATA_ENTIRE_VALID1
+ EXT4_EXT_DATA_ENTIRE_VALID1
...>
}
