// ext4 frees blocks of directories and symlinks without a word to the journal
//
// re-creates: the class of 904cdbd41d74 ("jbd2: clear dirty flag when revoking a buffer from an older
//             transaction") (in v5.0): an old image of freed metadata lands on the data that took its
//             block; fstests generic/455.
// caught by:  durable, historical
// profiles:   ext4-one-group
// workloads:  metadata-blocks-reused metadata-blocks-reused-twice
// files: fs/ext4/extents.c
//
// What is changed. Blocks of a directory or of a symlink that are freed are metadata still, but no longer forgotten: no
// revoke record says that their images in the journal must not be replayed.
//
// Why it loses data. The blocks go to a file, which is fsynced. Its data is not journaled. Recovery then writes the old
// directory over it.
//
// Why it is silent otherwise. Only a crash replays, and the journal must still hold the image. With flex_bg a block group
// of its own keeps directories apart from data, so that it takes a full filesystem, or one of a single group.

@@
@@
get_default_free_blocks_flags(...)
{
<...
- return EXT4_FREE_BLOCKS_METADATA | EXT4_FREE_BLOCKS_FORGET;
+ return EXT4_FREE_BLOCKS_METADATA;
...>
}
