// ext4 frees the block of a tree whose extents were merged without a word to the journal
//
// re-creates: the class of 904cdbd41d74 ("jbd2: clear dirty flag when revoking a buffer from an older
//             transaction") (in v5.0): an old image of freed metadata lands on the data that took its
//             block; fstests generic/455.
// caught by:  durable, historical
// profiles:   ext4 ext4-one-group
// workloads:  merged-extents-block-reused
// files: fs/ext4/extents.c
//
// What is changed. When so few extents are left that they fit into the inode, the block that held them is freed as if it
// held data: it is not forgotten, and not revoked.
//
// Why it loses data. Recovery replays the old image of the block. It is data since, and that data was fsynced.
//
// Why it is silent otherwise. The extents of a file have to become one within the life of the journal.

@@
expression handle, inode, blk;
@@
ext4_ext_try_to_merge_up(...)
{
<...
  ext4_free_blocks(handle, inode, NULL, blk, 1,
-	EXT4_FREE_BLOCKS_METADATA | EXT4_FREE_BLOCKS_FORGET
+	0
	);
...>
}
