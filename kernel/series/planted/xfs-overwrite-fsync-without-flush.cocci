// An fsync on xfs that has nothing to log does not flush the disk's cache
//
// re-creates: the class of 47c7d0b19502 ("xfs: fix incorrect log_flushed on fsync") (in v4.14), found by
//             fstests generic/455: an fsync that takes the log for flushed when it was not.
// caught by:  durable
// profiles: xfs
// workloads: overwrite-fdatasync
// files: fs/xfs/xfs_file.c
//
// What is changed. xfs_file_fsync() flushes the disk's cache itself when it forced no log, and the file is
// not on the realtime device, which was flushed before. The second condition has lost its negation.
//
// Why it loses data. Bytes written over bytes that are on disk change no metadata worth a log force. They
// sit in the disk's cache when fdatasync returns.
//
// Why it is silent otherwise. Every write that allocates or grows forces the log, whose write begins with a
// flush. The data is out of the page cache and on its way; only a power failure right then shows it.
//
// Seen with: write over a synced file, then fdatasync; then fsync, when the clock has not moved on (a new
// mtime makes it force the log).

@@
expression log_flushed, ip;
@@
- !log_flushed && !XFS_IS_REALTIME_INODE(ip)
+ !log_flushed && XFS_IS_REALTIME_INODE(ip)
