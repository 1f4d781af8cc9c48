// A snapshot of a subvolume of the same transaction leads to a block that is not written
//
// re-creates: the bug before eb96e221937a ("btrfs: fix unwritten extent buffer after snapshotting a new subvolume"), of
//             fstests btrfs/302. This takes it out again.
// caught by:  fsck, consistent, historical
// profiles:   btrfs
// workloads:  snapshot-of-a-new-subvolume-of-many-blocks
// absent: 5.10 6.1 (they do not have the fix)
// files: fs/btrfs/ctree.c
//
// What is changed. A block that was the root of the subvolume's tree when it was committed last, and is below a new root now,
// may be shared if it is of this transaction. Now it counts as not shared.
//
// Why it loses data. When the subvolume changes that block it takes a copy. The old one is freed and no longer dirty, so it is
// never written; but the snapshot's tree leads to it.
//
// Why it is silent otherwise. A commit between the two calls writes the block, and the tree of a small subvolume has no
// second level.

@@
expression buf_gen, trans;
@@
- if (buf_gen == trans->transid)
- 	return true;
