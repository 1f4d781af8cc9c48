// f2fs' recovery leaves out the block of extended attributes
//
// re-creates: abb2366c82c3 ("f2fs: fix to recover xattr node block") (in v3.15), which added what is taken out
//             here.
// caught by:  durable consistent
// profiles:   f2fs
// config:     f2fs
// workloads:  attributes-of-two-kinds-between-fsyncs
// files: fs/f2fs/recovery.c
//
// What is changed. What does not fit into the inode of extended attributes stands in a node of its own, which an
// fsync writes, too. Recovery now passes over it.
//
// Why it loses what was promised. The attributes are those of the last checkpoint, or cannot be read.
//
// Why it is silent otherwise. A few short attributes fit into the inode.
//
// Seen with: an attribute of 900 bytes, fsync.

@@
expression err, inode, page;
@@
- err = f2fs_recover_xattr_data(inode, page);
+ err = 0;
