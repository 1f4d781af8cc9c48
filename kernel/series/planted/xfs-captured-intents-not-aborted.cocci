// Recovery of xfs that fails leaves intents behind that it had written down anew
//
// re-creates: the bug before f8f9d952e42d ("xfs: abort intent items when recovery intents fail"). This takes it out again.
// caught by:  alive
// profiles:   xfs
// workloads:  young-attributes-of-a-removed-file
// damage:     failing
// absent: 5.10 6.1 (they do not have the fix)
// files: fs/xfs/libxfs/xfs_defer.c
//
// What is changed. Recovery finishes an intent of the log in a transaction, and keeps what that leaves to be done, with intents
// of its own, until all were looked at. When something fails, what was kept is given up. Now its intents are not aborted.
//
// Why it does harm. They stay in the list of what is to be written, which the mount that fails waits for: it hangs.
//
// Why it is silent otherwise. A recovery that meets no error has nothing to give up.

@@
identifier mp, dfc;
@@
 xfs_defer_ops_capture_abort(...)
 {
 	...
-	xfs_defer_pending_abort_list(mp, &dfc->dfc_dfops);
 	...
 }
