// xfs replays an inode once only from one log record
//
// re-creates: no commit; the comparison of 50d5c8d8e938 ("xfs: check LSN ordering for v5 superblocks during recovery")
//             (in v3.12), with the equal case on the wrong side.
// caught by:  durable, fsck
// profiles:   xfs
// workloads:  names-fsynced-while-the-log-is-written
// files: fs/xfs/xfs_inode_item_recover.c
//
// What is changed. Recovery leaves an inode alone that is newer on disk than the checkpoint in the log. Now also one that
// is as new.
//
// Why it loses what was promised. Checkpoints that begin in one log record have one LSN. Replaying the first one gives it
// to the inode, so the second one is left out, and with it the names in a directory that lies in its inode.
//
// Why it is silent otherwise. A log record mostly has one checkpoint.
//
// Seen with: three threads that make a name and fsync it, a few milliseconds one after the other.

@@
expression lsn, current_lsn;
@@
- XFS_LSN_CMP(lsn, current_lsn) > 0
+ XFS_LSN_CMP(lsn, current_lsn) >= 0
