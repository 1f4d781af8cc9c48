// f2fs takes reserved blocks away when a file is looked at, and leaves its times
//
// profiles:   f2fs
// files: fs/f2fs/file.c
//
// A fix of our own for F2FS-4 (docs/findings/F2FS-4.md).
//
// What is changed. What a direct write that was cut has reserved is taken away when the file is opened. Now stat()
// does it, too, so that it never reports these blocks. Neither changes mtime and ctime.
//
// How it was checked. With it ace1-157-dwrite-fsync keeps every promise on 6.12.

@@
identifier inode, ret;
@@
  finish_preallocate_blocks(struct inode *inode)
  {
  ...
- ret = f2fs_truncate(inode);
+ ret = f2fs_truncate_blocks(inode, i_size_read(inode), true);
+ if (!ret)
+ 	f2fs_mark_inode_dirty_sync(inode, false);
  ...
  }

@@
identifier inode, path;
@@
  f2fs_getattr(...)
  {
  ...
  struct inode *inode = d_inode(path->dentry);
  ...
+ if (S_ISREG(inode->i_mode) && file_should_truncate(inode) && !f2fs_readonly(inode->i_sb))
+ 	finish_preallocate_blocks(inode);
  if (f2fs_has_extra_attr(inode) && ...) { ... }
  ...
  }
