// ext4 drops from the cache no more of a zero range than the blocks that it makes unwritten
//
// profiles:   ext4-bigalloc
// workloads:  holes-punched-when-full
// files: fs/ext4/extents.c
// absent: 5.10, 6.1 (they drop whole blocks only)
//
// A fix of our own for EXT4-21 (docs/findings/EXT4-21.md).
//
// What is changed. ext4_zero_range() zeroed the parts of blocks at both ends in the cache, and did not make them dirty,
// before it made the whole blocks between them unwritten. Where that fails it returns, and the zeros stay in the cache.
// Now only the whole blocks are dropped from the cache there, as before 53471e0bedad ("ext4: refactor
// ext4_zero_range()"). The ends are zeroed and made dirty behind it, by ext4_zero_partial_blocks().
//
// How it was checked. With it the workload above keeps the promise that EXT4-21 breaks, on 6.12.

@@
expression inode, offset, end;
identifier ret;
symbol blocksize;
@@
  ext4_zero_range(...)
  {
  <...
- ret = ext4_truncate_page_cache_block_range(inode, offset, end);
+ ret = 0;
+ if (round_down(end, blocksize) > round_up(offset, blocksize))
+ 	ret = ext4_truncate_page_cache_block_range(inode, round_up(offset, blocksize),
+ 						   round_down(end, blocksize));
  ...>
  }
