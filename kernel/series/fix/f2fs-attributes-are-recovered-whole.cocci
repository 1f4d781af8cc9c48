// f2fs recovers an inode with a node of attributes only where both are on disk
//
// absent: 5.10 6.1 (not tried there)
// files: fs/f2fs/file.c
//
// A fix of our own for what FINDINGS.md tells ("Attributes that were synced are lost when an fsync of their file is
// cut").
//
// What is changed. fsync of a file that has a node of attributes marks the last of its nodes alone, as the commit of
// an atomic write does: f2fs_fsync_node_pages() then sends a FLUSH before that one, and recovery takes all of them or
// none. It costs a FLUSH more.
//
// How it was checked. With it both workloads of F2FS-14 keep every promise in models O, R and T.

@@
expression sbi, wbc, seq;
identifier inode, atomic;
@@
- f2fs_fsync_node_pages(sbi, inode, wbc, atomic, seq)
+ f2fs_fsync_node_pages(sbi, inode, wbc, atomic || F2FS_I(inode)->i_xattr_nid, seq)
