// What fallocate does by a descriptor with O_DSYNC stays in memory
//
// re-creates: the bug before cea267c235e1 ("xfs: ensure log flush at the end of a synchronous fallocate call"). This
//             takes it out again.
// caught by:  durable
// profiles:   xfs
// workloads:  fallocate-by-dsync-descriptor
// absent: 5.10 6.1 (the condition is another one there)
// files: fs/xfs/xfs_file.c
//
// What is changed. At its end a fallocate by a synchronous descriptor forces the log up to the file's last change. Now it
// does not.
//
// Why it loses data. The call returns, and the file's new size, or the hole, is in the log's buffer in memory alone.
//
// Why it is silent otherwise. The next fsync of anything forces the log, too.

@@
identifier error, file, ip;
@@
- if (!error && xfs_file_sync_writes(file))
- 	error = xfs_log_force_inode(ip);
