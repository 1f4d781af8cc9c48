// f2fs commits an atomic write as if it were an fsync
//
// re-creates: the class of 608514deba38 ("f2fs: set fsync mark only for the last dnode"), taken back for atomic writes.
// caught by:  atomic
// profiles:   f2fs
// config:     f2fs
// models:     T
// workloads:  atomic-write-across-node-blocks
// files: fs/f2fs/file.c
//
// What is changed. F2FS_IOC_COMMIT_ATOMIC_WRITE calls f2fs_do_sync_file() with atomic = true: of the nodes that it writes, only
// the last gets the mark of an fsync, and recovery takes all of them or none. The planted bug passes false, as fsync(2) does, so
// that each node gets the mark.
//
// Why it tears. Recovery takes each node that has the mark. A power failure between two nodes of the file leaves the blocks that
// the first leads to, without those of the second.
//
// Why it is silent otherwise. A file whose addresses all are in its inode has one node. Two nodes are mostly written by one
// request, so that only model T, which tears requests, shows it.
//
// Seen with: an atomic write over the end of the addresses in the inode.

@@
@@
  f2fs_ioc_commit_atomic_write(...) {
  <...
- f2fs_do_sync_file(filp, 0, LLONG_MAX, 0, true)
+ f2fs_do_sync_file(filp, 0, LLONG_MAX, 0, false)
  ...>
  }
