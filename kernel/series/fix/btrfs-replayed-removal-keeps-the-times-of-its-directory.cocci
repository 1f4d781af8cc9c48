// btrfs replay that removes a name from a directory leaves the directory's times alone
//
// profiles:   btrfs
// workloads:  replaced-beside-many-new-names
// absent:     5.10, 6.1 (it sets the times in another form)
// absent:     7.2 (upstream f022499f24e5 is in it)
// upstream:   f022499f24e5 ("btrfs: do not set mtime/ctime to current time when unlinking for log replay")
// files: fs/btrfs/inode.c
//
// For BTRFS-15, "Replay sets the times of a fsynced directory when it removes a name again".
//
// What is changed. __btrfs_unlink_inode() sets mtime and ctime of the directory. During log replay it no longer does:
// replay has copied the times that the fsync found, as it has for names that it adds (btrfs_add_link()).
//
// How it was checked. With it replaced-beside-many-new-names keeps every promise on 6.12, and so do replace-by-rename
// and replace-keeping-backup on btrfs-nearly-full.

@@
@@
  __btrfs_unlink_inode(...)
  {
  <...
- inode_set_mtime_to_ts(&dir->vfs_inode, inode_set_ctime_current(&dir->vfs_inode));
+ if (!test_bit(BTRFS_FS_LOG_RECOVERING, &dir->root->fs_info->flags))
+	inode_set_mtime_to_ts(&dir->vfs_inode, inode_set_ctime_current(&dir->vfs_inode));
  ...>
  }
