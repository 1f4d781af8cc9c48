// The kernel stops where a log tree cannot be replayed
//
// re-creates: the class of 3650860b90cc ("Btrfs: remove almost all of the BUG()'s from tree-log.c") (in v3.12): a BUG
//             where a damaged filesystem gives an error.
// caught by:  alive
// profiles:   btrfs-single
// absent:     7.2 (btrfs_replay_log() returns the error there and does not end the filesystem)
// damage:     sweep
// workloads:  append-fsync-repeated
// files: fs/btrfs/disk-io.c
//
// What is changed. When a block of a log tree does not read, the kernel calls BUG() instead of refusing the mount.
//
// Why it is silent otherwise. With two copies of the metadata it takes damage to both; here there is one.

@@
identifier f = btrfs_replay_log;
expression fs_info, ret;
@@
  f(...) {
<+...
+ BUG();
  btrfs_handle_fs_error(fs_info, ret, ...);
...+>
}
