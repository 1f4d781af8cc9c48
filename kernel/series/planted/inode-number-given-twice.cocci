// After replay the next new file gets the number of a replayed one
//
// re-creates: fstests generic/481, "Btrfs: fix unexpected -EEXIST when creating new inode": after replay no
//             new file could be made until the next mount.
// caught by:  usable
// workloads:  fsync-new-file
// profiles:   btrfs
// absent:     5.10 (there the highest number is looked up on its own, for subvolumes, too)
// files: fs/btrfs/tree-log.c
//
// What is changed. A mount looks for the highest inode number in use before it replays the log, and again
// after that, since replay makes inodes. The second look is taken out.
//
// Why it breaks. The first file made in that mount gets the number of an inode that replay made and is
// refused: EBUSY while that inode is in memory, as it is after a walk, else EEXIST.
//
// Why it is silent otherwise. What was recovered is right, and the next mount knows the highest number:
// only who goes on to use the very mount that replayed the log meets it.

@@
expression ret, root;
@@
- ret = btrfs_init_root_free_objectid(root);
