// xfs writes the log without a flush before it
//
// re-creates: the class of 2bf1ec0ff067 ("xfs: log forces imply data device cache flushes") and of
//             0dc8f7f139f0 ("xfs: fix ordering violation between cache flushes and tail updates") (both in
//             v5.14); fstests generic/482.
// caught by:  durable
// profiles: xfs
// workloads: append-few-bytes-fdatasync
// files: fs/xfs/xfs_log.c
//
// What is changed. A log record that asks for a flush of the disk's cache before it (XLOG_ICL_NEED_FLUSH)
// is written with FUA alone.
//
// Why it loses data. fsync relies on the log force to have flushed what it wrote to the file: it issues no
// flush of its own then. The record with the new size and extents is on disk and the data it points to may
// not be.
//
// Why it is silent otherwise. FUA keeps the log itself right, so recovery finds every record and the tree
// is consistent. What is missing is data that was written a moment ago, and only if the disk has a cache
// and loses it.
//
// Seen with: any fsync of a file that has grown.

@@
expression iclog;
@@
- iclog->ic_bio.bi_opf |= REQ_PREFLUSH;
