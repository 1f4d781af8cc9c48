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
// What is changed. The commit of an atomic write asks that its nodes are written so that only the last one is marked as the
// end of an fsync. It does not ask for that any more.
//
// Why it tears. Each node that is written is an fsync by itself then. A power failure between two nodes of the file leaves
// what the first leads to, and not the second.
//
// Why it is silent otherwise. A file whose addresses all lie in its inode has but one node. Both nodes mostly reach the device
// in one request, so that only a torn one shows it.
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
