// btrfs notes on the inode whose name a rename replaces that it lost one, as unlink does
//
// absent:     5.10 (the bug does not show there)
// files: fs/btrfs/inode.c
//
// A fix of our own for what FINDINGS.md tells ("A replaced name is lost, or comes back, when its file is fsynced by
// another name").
//
// What is changed. btrfs_record_unlink_dir() is called for the replaced inode, so its next fsync in the same
// transaction logs the directories that hold or held its names, too.
//
// How it was checked. With it replaced-name-fsync-name-beside and replaced-name-fsync-other-name keep every promise.

@@
@@
+ btrfs_record_unlink_dir(trans, BTRFS_I(new_dir), BTRFS_I(new_inode), false);
  ret = btrfs_unlink_inode(trans, BTRFS_I(new_dir), BTRFS_I(d_inode(new_dentry)), &new_fname.disk_name);
