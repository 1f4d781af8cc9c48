// ext4's fsync of overwritten data does not flush the device
//
// re-creates: no single fix: for ext4 what planted/xfs-overwrite-fsync-without-flush is for xfs. Where no commit of the
//             journal is needed, fsync itself has to flush the device's cache (fsync(2)).
// caught by:  durable
// profiles: ext4
// workloads: overwrite-fdatasync
// files: fs/ext4/fsync.c
//
// What is changed. ext4_fsync_journal() asks whether the commit that it waits for will flush the device
// (jbd2_trans_will_send_data_barrier()). Where it will not, because that transaction is on disk already, it no longer
// asks for a flush.
//
// Why it loses data. The new bytes were written in place and reached the device, whose cache may hold them.
//
// Why it is silent otherwise. Every commit flushes, so a file that grew or changed its attributes is safe, and all
// else within five seconds. A device without a write cache loses nothing.
//
// Seen with: a file that was synced, a write in place, fdatasync.

@@
expression journal, tid, flag;
@@
- if (journal->j_flags & JBD2_BARRIER && !jbd2_trans_will_send_data_barrier(journal, tid))
- 	*flag = true;
