// f2fs' recovery leaves out the extended attributes in the inode
//
// re-creates: the class of 1eca05aa9d4d ("f2fs: update inode info to inode page for new file"): recovery that
//             misses attributes in the inode.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// workloads:  attributes-of-two-kinds-between-fsyncs xattr-after-fsync
// files: fs/f2fs/recovery.c
//
// What is changed. Recovery takes the attributes that stand in an inode from the node that fsync wrote. It no
// longer does.
//
// Why it loses what was promised. The attributes are those of the last checkpoint.
//
// Why it is silent otherwise. A new attribute of a new file is on disk with the next checkpoint.
//
// Seen with: setxattr, fsync.

@@
expression err, inode, page;
@@
- err = f2fs_recover_inline_xattr(inode, page);
+ err = 0;
