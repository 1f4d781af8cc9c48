// A removed xattr is back after replay
//
// re-creates: 4f764e515361 ("Btrfs: remove deleted xattrs on fsync log replay"), fstests generic/066.
// caught by:  durable
// workloads:  removexattr-then-fsync
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. Replay of an inode removes from the subvolume those xattrs that the log does not hold.
// That step is taken out.
//
// Why it breaks. An fsync after removexattr promises that the xattr is gone. The log holds all xattrs that
// are left, which is all it can say of a removal; replay adds and replaces them, and the removed one
// stays.
//
// Why it is silent otherwise. It is an item that a commit put there and that was valid then.

@@
expression ret;
@@
replay_one_buffer(...) {
<+...
- ret = replay_xattr_deletes(...);
- if (ret)
-	break;
...+>
}
