// A synchronous direct write syncs its file also where no block is new
//
// absent: 5.10 (there f2fs has no f2fs_iomap_begin())
// files: fs/f2fs/data.c
//
// A fix of our own for F2FS-11, to show the cause, and not to be taken: each such write then makes an fsync.

@@
identifier inode, iomap;
expression changed;
@@
  f2fs_iomap_begin(struct inode *inode, ..., struct iomap *iomap, ...)
  {
  <...
- if (changed)
  	iomap->flags |= IOMAP_F_DIRTY;
  ...>
  }
