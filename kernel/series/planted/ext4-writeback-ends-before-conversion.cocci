// ext4 calls pages written before their extents are
//
// re-creates: the class of 8d5d02e6b176 ("ext4: async direct IO for holes and fallocate support") (in
//             v2.6.32): fsync must not return before the conversion of unwritten extents that a worker
//             does.
// caught by:  durable
// profiles: ext4
// workloads: overwrite-reserved-fdatasync replace-by-truncate
// files: fs/ext4/page-io.c
//
// What is changed. ext4_end_bio() ends the writeback of the pages of an unwritten extent at once, instead
// of leaving them to the worker that first converts the extent.
//
// Why it loses data. fsync waits for writeback and then for the inode's last transaction. The conversion is
// a transaction that has not begun: fsync returns with data in blocks whose extent still says unwritten,
// which read as zeros.
//
// Why it is silent otherwise. In memory the pages are right, and the conversion comes a moment later.
// Unwritten extents are no error for fsck. Whether the worker or the caller of fsync is first depends on
// the scheduler; a new file that grows is mostly saved by the change of its size, which the worker commits
// with it.
//
// Seen with: a write into a range that `fallocate` reserved, then fdatasync.

@@
expression b, end;
@@
- b->bi_private = xchg(&end->bio, b);
+ ext4_finish_bio(b);
+ bio_put(b);
  ext4_put_io_end_defer(end);
