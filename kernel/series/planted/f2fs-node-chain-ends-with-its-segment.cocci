// The last node of a segment names the block behind that segment as the next one of the chain
//
// re-creates: an order of statements that nothing but recovery depends on, written for an unseen set of mutants
// caught by:  durable
// profiles: f2fs-segment-end
// workloads: attributes-of-two-kinds-between-fsyncs
// files: fs/f2fs/segment.c
//
// What is changed. f2fs_allocate_data_block() writes into a node block where the next one will be. It does so before a full
// segment is replaced by a new one, and not after.
//
// Why it loses what was durable. Recovery follows these addresses from fsync to fsync. It ends, without an error, at the first
// segment that is full: what was fsynced later is lost.
//
// Why it is silent otherwise. Nothing else reads these addresses, and a segment has 512 blocks.

@@
expression sbi, curseg;
@@
f2fs_allocate_data_block(...)
{
<...
stat_inc_block_count(sbi, curseg);
+	if (page && IS_NODESEG(curseg->seg_type)) {
+		fill_node_footer_blkaddr(page, NEXT_FREE_BLKADDR(sbi, curseg));
+		f2fs_inode_chksum_set(sbi, page);
+	}
...>
}

@@
expression sbi, curseg, E;
@@
f2fs_allocate_data_block(...)
{
<...
up_write(E);
-	if (page && IS_NODESEG(curseg->seg_type)) {
-		fill_node_footer_blkaddr(page, NEXT_FREE_BLKADDR(sbi, curseg));
-		f2fs_inode_chksum_set(sbi, page);
-	}
...>
}
