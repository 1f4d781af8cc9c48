// XFS replays a log record whose checksum does not fit
//
// re-creates: the state before 0e446be44806 ("xfs: add CRC checks to the log") (in v3.8).
// caught by:  detected, noticed
// profiles:   xfs
// damage:     sweep
// workloads:  append-fsync-repeated
// files: fs/xfs/xfs_log_recover.c
//
// What is changed. Recovery takes the checksum in a record's header for right without computing it.
//
// Why it loses data. What a damaged record holds is replayed: sizes, extents and names that never were.
//
// Why it is silent otherwise. A record that is on the disk as it was written is replayed as ever; one that is torn
// at its end is found by the length of the log (planted/xfs-torn-log-record-replayed takes that away, too).

@@
@@
xlog_recover_process(...) {
<+...
- crc = xlog_cksum(...);
+ crc = expected_crc;
...+>
}
