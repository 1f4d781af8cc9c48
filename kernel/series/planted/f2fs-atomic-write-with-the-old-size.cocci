// A committed atomic write has the size that the file had before
//
// re-creates: the class of 4bf78322346f ("f2fs: mark inode dirty for FI_ATOMIC_COMMITTED flag") (in v6.9): the inode is written
//             with its new addresses and its old size.
// caught by:  atomic
// profiles:   f2fs
// config:     f2fs
// workloads:  atomic-write-over-pieces
// files: fs/f2fs/inode.c
//
// What is changed. While a file is written atomically its inode goes to disk with the size of before, until the write is
// committed. It does so when it is committed, too.
//
// Why it tears. The blocks before the old end are the new ones, and those behind it are not part of the file.
//
// Why it is silent otherwise. The size is right in memory, and the next change of the inode writes it.
//
// Seen with: an atomic write that ends behind the end of a file.

@@
expression inode;
@@
  f2fs_update_inode(...) {
  <...
- !f2fs_is_atomic_file(inode) || is_inode_flag_set(inode, FI_ATOMIC_COMMITTED)
+ !f2fs_is_atomic_file(inode)
  ...>
  }
