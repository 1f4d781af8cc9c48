// Of two renamed files that gave their names away in turn the second is lost
//
// re-creates: 6b5fc433a7ad ("Btrfs: fix fsync after succession of renames of different files"); fstests
//             generic/526. There the mount failed; with the order of today's replay a file goes instead.
// caught by:  atomic, durable
// workloads:  rename-chain-reuse-name
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent:     5.10 (its log context knows nothing of conflicting inodes)
//
// What is changed. When a file is logged whose name led to another inode on disk, that one is logged, too,
// and in the same way the one whose name that one took, and so on. The chain now ends after its first member.
//
// Why it loses data. Replay gives the first member its new name, which unlinks the second. Where that has
// gone is not in the log, so it has no link left and goes.
//
// Why it is silent otherwise. A single rename comes out right, and what replay removes it removes properly:
// nothing warns, fsck is content.
//
// Seen with: sync with A/one and A/two in it, `rename A/one A/three`, `rename A/two A/four`, `link A/three
// A/two`, `write A/one`, `fsync A/one`.

@@
expression other_ino, ino;
@@
copy_inode_items_to_log(...)
{
<...
- ret > 0 && other_ino != ino
+ ret > 0 && !ctx->logging_conflict_inodes && other_ino != ino
...>
}
