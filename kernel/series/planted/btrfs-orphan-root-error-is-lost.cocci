// A deleted subvolume that cannot be read at mount is forgotten
//
// re-creates: "btrfs: fix lost error return in btrfs_find_orphan_roots()" (in v7.0), taken out.
// caught by:  healed
// profiles:   btrfs-single
// absent:     5.10 6.1 6.12 (there the error is passed on)
// damage:     failing
// workloads:  deleted-subvolume-gives-back-its-room
// files: fs/btrfs/root-tree.c
//
// What is changed. Where the root of a deleted subvolume cannot be read, the search for deleted subvolumes ends, and its
// caller is not told.
//
// Why it breaks. The mount goes on, and what cleans up the tree of roots takes the item that says that this subvolume has
// to be dropped for one of an inode that is gone, and removes it. Nobody frees the blocks any more.
//
// Why it is silent otherwise. The tree is the same, and `btrfs check` of btrfs-progs 6.2 does not look for such roots. It
// shows where there is no room because of it.

@@
identifier f = btrfs_find_orphan_roots;
expression ret;
@@
  f(...) {
  <...
  if (ret && ret != -ENOENT) {
- 	return ret;
+ 	break;
  } else if (...) { ... }
  ...>
  }
