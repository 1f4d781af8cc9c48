// ext4's fast commit notes the first name of a file as its creation
//
// profiles:   ext4-fast-commit
// workloads:  tmpfile-linked-fsync
// files: fs/ext4/namei.c
//
// A fix of our own for EXT4-6 (docs/findings/EXT4-6.md).
//
// What is changed. A fast commit has the inode before a name that was created, and after a name that was linked.
// The first name of a file that O_TMPFILE made is linked, and replay skipped it as the name of no file. Now it is
// noted as created.
//
// How it was checked. With it the workload above keeps the promises that EXT4-6 breaks, on 6.12.

@@
identifier handle, dentry, inode, dir;
@@
  __ext4_link(struct inode *dir, struct inode *inode, ...)
  {
  <...
(
- ext4_fc_track_link(handle, dentry);
+ if (inode->i_nlink == 1)
+ 	ext4_fc_track_create(handle, dentry);
+ else
+ 	ext4_fc_track_link(handle, dentry);
|
- if (dentry)
- 	ext4_fc_track_link(handle, inode, dentry);
+ if (dentry && inode->i_nlink == 1 && test_opt2(inode->i_sb, JOURNAL_FAST_COMMIT) &&
+     !(EXT4_SB(inode->i_sb)->s_mount_state & EXT4_FC_REPLAY))
+ 	__ext4_fc_track_create(handle, inode, dentry);
+ else if (dentry)
+ 	ext4_fc_track_link(handle, inode, dentry);
)
  ...>
  }
