// Blocks of a log that a commit makes useless are discarded before that commit is on disk
//
// re-creates: the class of dcc82f4783ad ("Btrfs: fix log tree corruption when fs mounted with -o discard") (in v4.0)
// caught by:  mounts, quiet
// profiles: btrfs-discard
// workloads: log-trees-trimmed
// files: fs/btrfs/extent-tree.c
//
// What is changed. btrfs_pin_reserved_extent() discards the blocks of a log tree when the tree is freed, with discard=sync. They are
// discarded when the commit has ended.
//
// Why it loses data. The superblock on disk names that log until the commit has written another one. A crash between finds
// zeros where the log was, and the mount fails.
//
// Why it is silent otherwise. Only a mount with discard=sync is concerned, and only until the superblock is written.

@@
expression trans, cache, eb, e;
@@
btrfs_pin_reserved_extent(...)
{
<...
+ if (btrfs_test_opt(trans->fs_info, DISCARD_SYNC))
+ 	btrfs_discard_extent(trans->fs_info, eb->start, eb->len, NULL);
e = pin_down_extent(trans, cache, eb->start, eb->len, 1);
...>
}
