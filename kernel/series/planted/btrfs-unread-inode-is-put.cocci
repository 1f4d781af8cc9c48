// Replay gives up an inode that it could not read
//
// re-creates: 2dcf838cf5c2 ("btrfs: fix invalid inode pointer dereferences during log replay") (in v6.16), taken out of
//             drop_one_dir_item().
// caught by:  alive
// profiles:   btrfs-single
// absent:     5.10 6.1 (there it is a struct inode, and iput(NULL) does nothing)
// damage:     failing
// workloads:  name-reused-old-inode-in-another-leaf
// files: fs/btrfs/tree-log.c
//
// What is changed. When replay removes a name that is in the way, and the inode that it leads to cannot be read, iput() is
// called all the same.
//
// Why it breaks. The inode is NULL, and iput() gets the offset of a member for a pointer. The kernel dies instead of
// refusing the mount.
//
// Why it is silent otherwise. It takes an old inode that nothing read before: neither the directory nor the new file is in
// its leaf, and the log has nothing of it.

@@
identifier f = drop_one_dir_item;
identifier inode;
@@
  f(...) {
  <...
- if (inode)
- 	iput(&inode->vfs_inode);
+ iput(&inode->vfs_inode);
  ...>
  }
