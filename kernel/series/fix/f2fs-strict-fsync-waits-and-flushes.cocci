// f2fs with fsync_mode=strict waits for its nodes and flushes in fsync, as in posix mode
//
// profiles:   f2fs-strict
// workloads:  overwrite-fdatasync fsync-after-sync punch-hole-across-end-fsync
// files: fs/f2fs/file.c
//
// A fix of our own for F2FS-5 (docs/findings/F2FS-5.md).
//
// What is changed. Strict mode still writes the nodes of an fsync in order, as those of an atomic write. It no longer
// leaves out the wait for these nodes and the flush, which only an atomic write may leave out.
//
// How it was checked. With it, and with fix/f2fs-fsync-waits-for-first-node, the workloads above lose no data on 6.12;
// punch-hole-across-end-fsync still shows F2FS-1.

@@
identifier ret, sbi, inode, wbc, seq_id;
@@
  f2fs_do_sync_file(...)
  {
+ bool ordered = atomic;
  ...
  if (F2FS_OPTION(sbi).fsync_mode == FSYNC_MODE_STRICT && !atomic)
- 	atomic = true;
+ 	ordered = true;
  ...
- ret = f2fs_fsync_node_pages(sbi, inode, &wbc, atomic, &seq_id);
+ ret = f2fs_fsync_node_pages(sbi, inode, &wbc, ordered, &seq_id);
  ...
  }
