// nilfs2 writes an inode at fsync when no data of it has changed
//
// profiles:   nilfs2
// workloads:  unlink-one-of-two-names
// files: fs/nilfs2/file.c
//
// A fix of our own for NILFS2-1 (docs/findings/NILFS2-1.md).
//
// What is changed. nilfs_sync_file() constructs a segment only where nilfs_inode_dirty() says so, which is about data and
// entries alone. Now fsync does it always: a segment constructor that has nothing to write returns at once
// (nilfs_segctor_confirm()). fdatasync is left as it was.
//
// How it was checked. With it the workload keeps its promises on 6.12.

@@
identifier datasync;
expression inode;
@@
  nilfs_sync_file(..., int datasync)
  {
  ...
- if (nilfs_inode_dirty(inode))
+ if (!datasync || nilfs_inode_dirty(inode))
  {
  ...
  }
  ...
  }
