// ext4 leaves no zeros in the cache where a zero range has failed
//
// profiles:   ext4-bigalloc
// workloads:  holes-punched-when-full
// files: fs/ext4/extents.c
// absent: 5.10, 6.1 (they drop whole blocks only, and are of another form)
//
// A fix of our own for EXT4-21 (docs/findings/EXT4-21.md).
//
// What is changed. ext4_zero_range() zeroes in the cache the parts of pages at both ends of the range, and does not make
// them dirty, before it makes blocks unwritten. Where that fails it returned, and the zeros stayed in the cache. Now it
// writes what is dirty there and drops the pages, so that they are read from the disk again.
//
// How it was checked. With it the workload above keeps the promise that EXT4-21 breaks, on 6.12; with pages of 64 KiB
// (aarch64) also reservations-that-do-not-fit on ext4.

@exists@
identifier ret;
@@
  ext4_zero_range(...)
  {
  ...
  ret = ext4_truncate_page_cache_block_range(inode, offset, end);
  ... when any
  ret = ext4_alloc_file_blocks(...);
  if (ret)
- 	return ret;
+ {
+ 	filemap_write_and_wait_range(inode->i_mapping, offset, end - 1);
+ 	invalidate_inode_pages2_range(inode->i_mapping, offset >> PAGE_SHIFT,
+ 				      (end - 1) >> PAGE_SHIFT);
+ 	return ret;
+ }
  ...
  }
