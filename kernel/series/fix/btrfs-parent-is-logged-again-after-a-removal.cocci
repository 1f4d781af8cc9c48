// btrfs logs a parent directory again when a name was removed from it after it was logged
//
// re-creates: nothing; a fix of our own, for docs/findings/BTRFS-14.md
// profiles: btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. need_log_inode() lets a directory be skipped that is in the log of this transaction already.
// With the series only other inodes are skipped.
//
// Why. The comment there says that names which are added or removed later are updated in the log by link,
// unlink and rename. That holds for names of this transaction. The removal of a name of an earlier transaction
// is only in the log when the directory is logged after it.

@@
struct btrfs_inode *I;
expression T;
@@
 need_log_inode(...)
 {
 <...
-  if (inode_logged(T, I, NULL) == 1 && !test_bit(BTRFS_INODE_COPY_EVERYTHING, &I->runtime_flags))
+  if (!S_ISDIR(I->vfs_inode.i_mode) && inode_logged(T, I, NULL) == 1 && !test_bit(BTRFS_INODE_COPY_EVERYTHING, &I->runtime_flags))
     return false;
 ...>
 }
