// btrfs logs a parent directory again when a name was removed from it after it was logged
//
// re-creates: nothing; a fix of our own, for docs/findings/BTRFS-14.md
// profiles: btrfs
// absent: 5.10 (it has no need_log_inode(); whether the bug shows there was not tried)
// files: fs/btrfs/tree-log.c
//
// What is changed. need_log_inode() lets a directory be skipped that is in the log of this transaction already.
// With the series only other inodes are skipped.
//
// Why. The comment there says that names which are added or removed later are updated in the log by link,
// unlink and rename. That holds for names of this transaction. The removal of a name of an earlier transaction
// is only in the log when the directory is logged after it.

@@
expression C, F;
@@
 need_log_inode(...)
 {
 <...
-  if (C && !test_bit(BTRFS_INODE_COPY_EVERYTHING, F))
+  if (!S_ISDIR(inode->vfs_inode.i_mode) && C && !test_bit(BTRFS_INODE_COPY_EVERYTHING, F))
     return false;
 ...>
 }
