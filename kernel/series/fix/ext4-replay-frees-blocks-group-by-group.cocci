// ext4's replay of a fast commit frees an extent group by group
//
// profiles:   ext4-fast-commit
// workloads:  removed-filler-makes-room
// files: fs/ext4/mballoc.c
//
// A fix of our own for what FINDINGS.md tells ("A fast commit that removes a large file spoils block bitmaps").
//
// What is changed. While a fast commit is replayed ext4_free_blocks() hands an extent to ext4_free_blocks_simple() as
// it is, and that clears as many bits in the bitmap of the group in which the extent begins. Now it gets the part in
// each group.
//
// How it was checked. With it `run removed-filler-makes-room --fs ext4-fast-commit` keeps every promise on 6.12.

@@
expression inode, block;
symbol count, sbi;
@@
  ext4_free_blocks(...)
  {
  	<...
- 	ext4_free_blocks_simple(inode, block, EXT4_NUM_B2C(sbi, count));
+ 	while (count) {
+ 		ext4_grpblk_t offset;
+ 		unsigned long piece;
+
+ 		ext4_get_group_no_and_offset(inode->i_sb, block, NULL, &offset);
+ 		piece = EXT4_C2B(sbi, EXT4_CLUSTERS_PER_GROUP(inode->i_sb) - offset);
+ 		if (piece > count)
+ 			piece = count;
+ 		ext4_free_blocks_simple(inode, block, EXT4_NUM_B2C(sbi, piece));
+ 		block += piece;
+ 		count -= piece;
+ 	}
  	...>
  }
