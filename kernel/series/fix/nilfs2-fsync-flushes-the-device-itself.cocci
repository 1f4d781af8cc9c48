// nilfs2 flushes the cache of the disk in each fsync and sync
//
// profiles:   nilfs2
// workloads:  two-files-of-one-directory-fsynced-at-once syncfs-twice-at-once
// files: fs/nilfs2/the_nilfs.h
//
// A fix of our own for NILFS2-2 (docs/findings/NILFS2-2.md).
//
// What is changed. nilfs_flush_device() notes that it has flushed (ns_flushed_device) before it does, and a second caller
// that finds the note returns while the flush of the first is still under way. Now each caller flushes. A fix for use would
// let the second one wait for the first.
//
// How it was checked. With it and fix/nilfs2-fsync-writes-a-changed-inode both workloads keep every promise on 6.12.

@@
expression nilfs;
@@
  nilfs_flush_device(...)
  {
  ...
- if (!nilfs_test_opt(nilfs, BARRIER) || nilfs->ns_flushed_device)
+ if (!nilfs_test_opt(nilfs, BARRIER))
  	return 0;
  ...
  }
