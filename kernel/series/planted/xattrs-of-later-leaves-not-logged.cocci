// Of the attributes of a file only those on the first leaf of the tree are logged
//
// re-creates: the class of 36283bf777d9 ("Btrfs: fix fsync xattr loss in the fast fsync path"), fstests generic/745.
// caught by:  durable
// profiles:   btrfs-4k-nodes
// workloads:  xattrs-over-leaves-then-write
// files: fs/btrfs/tree-log.c
//
// What is changed. When fsync logs all attributes of an inode it goes from leaf to leaf. It stops at the end of the first.
//
// Why it loses attributes. Replay removes attributes that the log does not have.
//
// Why it is silent otherwise. Few files have more attributes than fit into one leaf of 16K.

@@
expression ret, root, path;
@@
btrfs_log_all_xattrs(...)
{
<+...
- ret = btrfs_next_leaf(root, path);
+ ret = 1;
...+>
}
