// With two logs an fsync writes nodes where recovery does not look for them
//
// re-creates: the case of two logs (CP_SPEC_LOG_NUM) in need_do_checkpoint(), left out; written for an unseen set of reverts
// caught by:  durable
// profiles: f2fs-two-logs
// workloads: append-fsync-repeated fsync-new-file
// files: fs/f2fs/file.c
//
// What is changed. need_do_checkpoint() does not ask for a checkpoint with active_logs=2.
//
// Why it loses what was durable. All nodes go into the hot log then, and recovery reads the warm one.
//
// Why it is silent otherwise. active_logs is 6 by default, and any checkpoint makes all durable.

@@
expression sbi;
@@
need_do_checkpoint(...)
{
<...
F2FS_OPTION(sbi).active_logs ==
-	2
+	0
...>
}
