// ext4 leaves an extent unwritten also if the failed write ended before writeback released it
//
// profiles:   ext4, ext4-used
// workloads:  extent-tree-block-reused
// upstream:   2f94b537c48d ("ext4: replace opencoded ext4_end_io_end() in ext4_put_io_end()") (in v6.15)
// absent:     5.10 (it does not mark a failed write: e856f93e0fb2 is not there)
// absent:     6.1 (it does not mark a failed write: e856f93e0fb2 is not there)
// absent:     7.2 (2f94b537c48d is in it)
// files: fs/ext4/page-io.c
//
// For what FINDINGS.md tells ("Bytes of a removed file show where the write of a new one failed").
//
// What is changed. ext4_put_io_end() converts the unwritten extents itself and does not ask whether the write
// failed. Now it calls ext4_end_io_end(), which has asked that since e856f93e0fb2 ("ext4: do not convert the unwritten
// extents if data writeback fails") (in v6.15, and in 6.12.y).
//
// How it was checked. With it `run --faults extent-tree-block-reused --fs ext4` keeps every promise on 6.12.

@@
expression io_end;
identifier err;
@@
  ext4_put_io_end(...)
  {
  <...
- if (io_end->flag & EXT4_IO_END_UNWRITTEN) {
- 	err = ext4_convert_unwritten_io_end_vec(io_end->handle, io_end);
- 	io_end->handle = NULL;
- 	ext4_clear_io_unwritten_flag(io_end);
- }
+ if (io_end->flag & EXT4_IO_END_UNWRITTEN)
+ 	return ext4_end_io_end(io_end);
  ...>
  }
