// btrfs also logs the directories of an inode that is logged because another inode took one of its names
//
// profiles:   btrfs
// workloads:  replaced-name-fsync-name-taken-over
// absent:     5.10 (whether the bug shows there was not tried)
// files: fs/btrfs/inode.c fs/btrfs/tree-log.c
//
// A fix of our own for what FINDINGS.md tells ("A replaced name is lost, or comes back, when its file is fsynced by
// another name").
//
// What is changed. btrfs_record_unlink_dir() is called for the inode whose name a rename replaces, as in
// btrfs-rename-notes-the-replaced-name; and after log_conflicting_inodes() logged an inode that lost a name in this
// transaction, it logs the directories that held its names, as an fsync of that inode does.
//
// How it was checked. With it replaced-name-fsync-name-taken-over keeps every promise on 6.12; with the other series
// alone it does not.

@@
@@
+ btrfs_record_unlink_dir(trans, BTRFS_I(new_dir), BTRFS_I(new_inode), false);
  ret = btrfs_unlink_inode(trans, BTRFS_I(new_dir), BTRFS_I(d_inode(new_dentry)), &new_fname.disk_name);

@@
@@
+ static int btrfs_log_all_parents(struct btrfs_trans_handle *trans, struct btrfs_inode *inode,
+ 				 struct btrfs_log_ctx *ctx);
+
  static int log_conflicting_inodes(...)
  {
  ...
  }

@@
@@
  log_conflicting_inodes(...)
  {
  <...
  ret = btrfs_log_inode(trans, inode, LOG_INODE_EXISTS, ctx);
+ if (!ret && inode->last_unlink_trans >= trans->transid)
+ 	ret = btrfs_log_all_parents(trans, inode, ctx);
  ...>
  }
