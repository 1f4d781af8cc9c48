// ext4's replay of a fast commit counts a directory in its parent
//
// profiles:   ext4-fast-commit
// workloads:  link-old-file-into-new-directory link-into-new-directory-fsync-root open-directory-removed
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-5 (docs/findings/EXT4-5.md).
//
// What is changed. A directory has a link from itself, and its parent has one from it. Replay adds both where it
// makes a directory, and takes both away where it removes one.
//
// How it was checked. With it the workloads above keep the promises that EXT4-5 breaks, on 6.12.

@@
identifier dir, inode, dentry_inode;
expression ret;
@@
  ext4_fc_replay_link_internal(...)
  {
  ...
  ret = __ext4_link(dir, inode, dentry_inode);
+ if (!ret && S_ISDIR(inode->i_mode)) {
+ 	inc_nlink(dir);
+ 	ext4_mark_inode_dirty(NULL, dir);
+ }
  ...
  }

@@
identifier inode;
@@
  ext4_fc_replay_create(...)
  {
  ...
- set_nlink(inode, 1);
+ set_nlink(inode, S_ISDIR(inode->i_mode) ? 2 : 1);
  ...
  }

@@
identifier inode, old_parent, entry;
expression ret;
@@
  ext4_fc_replay_unlink(...)
  {
  ...
  ret = __ext4_unlink(old_parent, &entry, inode, NULL);
+ if (!ret && S_ISDIR(inode->i_mode)) {
+ 	clear_nlink(inode);
+ 	if (old_parent->i_nlink > 2)
+ 		drop_nlink(old_parent);
+ 	ext4_mark_inode_dirty(NULL, old_parent);
+ }
  ...
  }
