// Truncation within a compressed cluster of f2fs writes the zeros that it puts into the cache
//
// profiles:   f2fs-compress
// workloads:  truncate-down-and-up
// absent:     5.10 6.1 (not tried there) 7.2 (it has 0b2cd5092139)
// files: fs/f2fs/compress.c
//
// A series of our own for F2FS-15 (docs/findings/F2FS-15.md). From 6.18 on the kernel has 0b2cd5092139 ("f2fs: fix to zero
// data after EOF for compressed file correctly"), which does more.
//
// What is changed. f2fs_truncate_partial_cluster() writes the cluster back when it has zeroed what is behind the new end.
//
// Why. The pages behind the end are dirty, and nothing keeps them: the next call that makes the file longer drops them
// (f2fs_zero_post_eof_page()), and the old cluster is read from the disk again.
//
// How it was checked. With it the workload keeps every promise on 6.12.

@@
identifier f = f2fs_truncate_partial_cluster;
@@
  f(...) {
  <...
  f2fs_compress_write_end(inode, fsdata, start_idx, true);
+ err = filemap_write_and_wait_range(inode->i_mapping, round_down(from, 1 << log_cluster_size << PAGE_SHIFT), LLONG_MAX);
+ if (err)
+ 	return err;
  ...>
  }
