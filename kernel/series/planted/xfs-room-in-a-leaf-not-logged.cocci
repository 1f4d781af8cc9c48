// The leaf of an xfs directory is logged without what it says of the room in the block that gets a name
//
// re-creates: the class of e400d27d1690 ("xfs: fix dir3 freespace block corruption") (in v3.10), of directories
//             that have one leaf.
// caught by:  fsck
// profiles:   xfs
// workloads:  one-name-more-in-a-directory-on-disk
// files: fs/xfs/libxfs/xfs_dir2_leaf.c
//
// What is changed. A leaf says of each block of names how much room its largest gap has. Where a name takes room
// in a block that was there before, the new number is not logged with the leaf, but where the block is a new one.
//
// Why it loses what was promised. After recovery the leaf tells of room that is taken. xfs_repair finds a bad tail
// of the leaf, and the next name that is put there finds no room.
//
// Why it is silent otherwise. In memory the leaf is right, and it is written as a whole. Where the end of the leaf
// is dirty from an earlier change, it gets into the log again with each later one: so the filesystem must have
// been mounted anew, or have written the leaf, since the directory was filled.
//
// Seen with: a directory of 150 names, a mount, one more name, fsync.

@@
expression list arguments;
@@
- if (!grown)
+ if (grown)
  	xfs_dir3_leaf_log_bests(arguments);
