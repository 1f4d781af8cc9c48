// f2fs does not call a file that is made without a name an orphan
//
// re-creates: fstests generic/531: files that were made without names are open when the filesystem stops.
// caught by:  fsck
// profiles:   f2fs
// config:     f2fs
// workloads:  tmpfile-and-unlinked-file-at-a-commit
// files: fs/f2fs/namei.c
//
// What is changed. f2fs_tmpfile() no longer puts the new inode among the orphans.
//
// Why it loses what was promised. A checkpoint holds the numbers of the inodes that have no name and are open
// (orphans), and the mount after a power failure frees them. The inode and its blocks now belong to nobody.
//
// Why it is silent otherwise. Closing the file frees it, and a name that it gets makes it a file like others.
//
// Seen with: a file made by O_TMPFILE, sync, and a power failure while it is open.

@@
expression sbi, inode;
@@
- f2fs_add_orphan_inode(inode);
+ f2fs_release_orphan_inode(sbi);
  f2fs_alloc_nid_done(sbi, inode->i_ino);
