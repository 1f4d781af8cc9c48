// ext4 gives freed blocks to others before the transaction that freed them is on disk
//
// re-creates: no single fix: what ext4_mb_free_metadata() is for (fs/ext4/mballoc.c, "We need to make sure we don't reuse
//             the freed block until after the transaction is committed"); fstests generic/042 is about the same blocks.
// caught by:  durable, historical
// profiles:   ext4-one-group
// workloads:  freed-blocks-written-before-the-commit
// files: fs/ext4/mballoc.c
//
// What is changed. Freed blocks go back to the allocator at once, as without a journal, and not at the commit.
//
// Why it loses data. Another file's bytes are written into them. When the power fails before the commit, the file that
// was removed, cut or punched is there as before, with these bytes in it.
//
// Why it is silent otherwise. In memory nothing is shared, and after the commit nothing is. The tree that comes back is
// consistent.
//
// Seen with: a synced file, unlink, a direct write into a new file of the same size.

@@
expression handle, flags, inode;
@@
ext4_mb_clear_bb(...)
{
<...
  if (ext4_handle_valid(handle) &&
-      ((flags & EXT4_FREE_BLOCKS_METADATA) || !ext4_should_writeback_data(inode))
+      (flags & EXT4_FREE_BLOCKS_METADATA)
     ) { ... } else { ... }
...>
}
