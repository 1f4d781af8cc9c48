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
// What is changed. f2fs_update_inode() leaves the size on disk as it is while an atomic write is under way, and writes the new
// size once the write is committed (FI_ATOMIC_COMMITTED). The planted bug leaves this exception out, so that the commit does
// not write the new size either.
//
// Why it tears. The new blocks before the old end are part of the file, and those behind it are not.
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
