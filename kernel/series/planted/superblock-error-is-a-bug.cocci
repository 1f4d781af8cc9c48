// The kernel stops where a superblock cannot be written
//
// re-creates: what 79787eaab461 ("btrfs: replace many BUG_ONs with proper error handling") (in v3.4) took out of
//             write_all_supers(): a BUG where the device gave an error.
// caught by:  alive
// profiles:   btrfs
// faults:     sweep
// workloads:  fsync-new-file
// files: fs/btrfs/disk-io.c
//
// What is changed. When too many superblocks could not be written, the kernel calls BUG() instead of aborting the
// transaction.
//
// Why it is silent otherwise. It takes an error of just this write.

@@
@@
  write_all_supers(...)
  {
  <...
  btrfs_err(...);
  mutex_unlock(...);
+ BUG();
(
  btrfs_handle_fs_error(...);
|
  btrfs_abort_transaction(...);
)
  ...>
  }
