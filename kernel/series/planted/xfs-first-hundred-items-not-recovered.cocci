// xfs recovery leaves out the first hundred items of a long checkpoint
//
// re-creates: the class of 84a5b7300c72 ("xfs: don't account buffer cancellation during log recovery readahead"):
//             what the readahead of recovery, which takes items in batches of a hundred, does to what is
//             recovered.
// caught by:  mounts consistent
// profiles:   xfs
// workloads:  very-many-new-names unlink-beside-many-new-names
// files: fs/xfs/xfs_log_recover.c
//
// What is changed. When a batch is full, its items are called done and are not recovered.
//
// Why it loses what was promised. What stands in the first hundred items of a checkpoint is lost, and what follows
// does not fit to it.
//
// Why it is silent otherwise. Few checkpoints have a hundred items.
//
// Seen with: a hundred new files and one fsync.

@@
identifier error, items_queued, ra_list, done_list;
expression log, trans, buffer_list;
@@
	if (items_queued >= XLOG_RECOVER_COMMIT_QUEUE_MAX) {
-		error = xlog_recover_items_pass2(log, trans, buffer_list, &ra_list);
		...
	}
