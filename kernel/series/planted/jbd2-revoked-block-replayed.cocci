// jbd2 replays a block that the next transaction has revoked
//
// re-creates: the class of 904cdbd41d74 ("jbd2: clear dirty flag when revoking a buffer from an older
//             transaction") (in v5.0): an old image of freed metadata lands on the data that took its
//             block; fstests generic/455.
// caught by:  historical durable
// profiles: ext4
// workloads: extent-tree-block-reused
// files: fs/jbd2/revoke.c
//
// What is changed. A revoke record stops the replay of the block's images from transactions up to its own.
// The comparison is off by one: images of the transaction just before are replayed.
//
// Why it loses data. A block of the extent tree is freed and revoked, and goes to another file. That file
// is fsynced; its data is not journaled. Recovery then writes the old extent block over it.
//
// Why it is silent otherwise. Only a crash replays; the block must have been journaled in the transaction
// before the one that freed it, must have been given out as data already, and the journal must still hold
// it. The tree stays consistent, for it is data that is overwritten.
//
// Seen with: a file with an extent tree, synced; unlink; a new file that takes its blocks, fsynced.

@@
expression tid, revoked;
@@
- if (tid_gt(tid, revoked->sequence))
+ if (tid_geq(tid + 1, revoked->sequence))
  	return 0;
