// btrfs takes a name out of the log whose removal from the directory is still a delayed item
//
// profiles:   btrfs
// workloads:  link-removed-beside-many-new-names
// absent:     5.10 (it writes the delayed items into the tree before it logs a directory)
// files: fs/btrfs/tree-log.c
//
// A fix of our own for BTRFS-16, "A removed name comes back although its directory was fsynced after the removal".
//
// What is changed. Where a directory is logged for the first time in a transaction, log_delayed_deletions_full() logs
// the ranges of the entries that wait for their removal, and leaves those alone that log_dir_items() has just copied.
// Now log_delayed_deletions_incremental() does it in all cases: it takes an entry out of the log, and logs a range
// where there is none.
//
// How it was checked. With it link-removed-beside-many-new-names keeps every promise on 6.12, and so does
// replaced-beside-many-new-names (BTRFS-15).

@@
@@
- static int log_delayed_deletions_full(...)
- {
- ...
- }

@@
@@
  log_delayed_deletion_items(...)
  {
  <...
- if (ctx->logged_before)
-	return log_delayed_deletions_incremental(trans, inode, path, delayed_del_list, ctx);
- return log_delayed_deletions_full(trans, inode, path, delayed_del_list, ctx);
+ return log_delayed_deletions_incremental(trans, inode, path, delayed_del_list, ctx);
  ...>
  }
