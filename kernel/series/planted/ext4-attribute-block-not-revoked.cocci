// ext4 frees the block of extended attributes without a word to the journal
//
// re-creates: the class of 904cdbd41d74 ("jbd2: clear dirty flag when revoking a buffer from an older
//             transaction") (in v5.0): an old image of freed metadata lands on the data that took its
//             block; fstests generic/455.
// caught by:  durable, historical
// profiles:   ext4-one-group
// workloads:  metadata-blocks-reused metadata-blocks-reused-twice
// files: fs/ext4/xattr.c
//
// What is changed. When the last inode lets go of its attribute block, the block is freed and no longer forgotten: no
// revoke record says that its images in the journal must not be replayed.
//
// Why it loses data. The block goes to a file, which is fsynced. Recovery then writes the old attributes over it.
//
// Why it is silent otherwise. Only a crash replays, the journal must still hold the image, and the block must be data by
// then. The tree stays consistent, for it is data that is overwritten.

@@
@@
ext4_xattr_release_block(...)
{
<+...
  ext4_free_blocks(...,
- 		EXT4_FREE_BLOCKS_METADATA | EXT4_FREE_BLOCKS_FORGET
+ 		EXT4_FREE_BLOCKS_METADATA
  		);
...+>
}
