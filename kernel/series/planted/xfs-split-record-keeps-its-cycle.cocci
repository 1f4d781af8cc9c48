// The part of a log record that goes on at the begin of the log has the cycle number of the end
//
// re-creates: no single fix: the class of 284f1c2c9beb ("xfs: fix recovery failure when log record header wraps log
//             end") (in v4.14), a log that comes to its end; fstests reaches it in generic/388 and generic/475 by
//             chance
// caught by:  mounts fsck durable
// profiles: xfs-log-end
// workloads: append-fdatasync-repeated
// files: fs/xfs/xfs_log.c
//
// What is changed. Each block of a record has the number of the cycle in which it is written. Where a record goes
// across the end of the log, the blocks behind the end belong to the next cycle; here they get the number of this
// one.
//
// Why it loses data. Recovery finds the head of the log where the number falls. The blocks at the begin of the log
// look as if they were not yet written in this cycle, so the record is taken for one that a power failure cut, and
// what was fsynced by it is gone.
//
// Why it is silent otherwise. A log has 64 MiB at least, and one record in thousands crosses its end. The next
// record hides it.

@@
identifier cycle;
@@
- if (++cycle == XLOG_HEADER_MAGIC_NUM)
- 	cycle++;
  put_unaligned_be32(cycle, ...);
