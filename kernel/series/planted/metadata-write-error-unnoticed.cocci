// A commit goes on although metadata could not be written
//
// re-creates: the class of 656f30dba7ab ("Btrfs: be aware of btree inode write errors to avoid fs corruption")
//             (in v3.18): a write error of a tree block that the commit did not hear of.
// caught by:  contained, mounts
// profiles:   btrfs-single
// faults:     sweep
// workloads:  xattrs-over-two-fsyncs
// absent:     5.10 (there both errors are returned by one statement)
// files: fs/btrfs/transaction.c
//
// What is changed. btrfs_write_and_wait_transaction() waits for the tree blocks of the transaction and forgets
// that some of them failed; that they could not be submitted it still tells.
//
// Why it loses data. The superblock then points to a tree with a block that is not on disk. What was there
// before, and was durable, cannot be reached any more.
//
// Why it is silent otherwise. The block is in memory, so all goes on until the next mount. With two copies of
// metadata (DUP) the other copy saves it, hence the profile.

@@
identifier r;
@@
  btrfs_write_and_wait_transaction(...)
  {
  ...
  r = btrfs_wait_extents(...);
  ...
- if (r)
- 	return r;
  ...
  }
