// XFS replays a log record of which only the first sectors are on the disk
//
// re-creates: the class of 7088c4136fa1 ("xfs: detect and trim torn writes during log recovery") (in v4.5): a
//             record that was torn when the power failed is taken for a whole one.
// caught by:  mounts, quiet, fsck, durable, historical
// profiles:   xfs
// workloads:  fsync-new-file
// models:     T
// files: fs/xfs/xfs_log_recover.c
//
// What is changed. Recovery no longer compares the length of the last record with where the log ends, and
// takes the checksum of a record for right without computing it.
//
// Why it loses data. The rest of a torn record is what the log held there before, zeros or an older record:
// recovery replays it, or finds that it makes no sense and refuses the mount.
//
// Why it is silent otherwise. A record that was written whole is replayed as ever. Only a power failure in
// the middle of writing one shows it, on a device that does not write a record as a whole.

@@
expression e;
@@
xlog_find_verify_log_record(...) {
<+...
- *last_blk - i + extra_bblks != e
+ *last_blk - i + extra_bblks < 0 && e
...+>
}

@@
@@
xlog_recover_process(...) {
<+...
- crc = xlog_cksum(...);
+ crc = expected_crc;
...+>
}
