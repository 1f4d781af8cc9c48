// f2fs leaves a file among the orphans that got its first name
//
// re-creates: cf. fstests generic/531, of files made without names; fs/f2fs/dir.c names the case: "If link the
//             tmpfile to alias through linkat path, we should remove this inode from orphan list".
// caught by:  durable consistent fsck historical
// profiles:   f2fs
// config:     f2fs
// workloads:  tmpfile-and-unlinked-file-at-a-commit tmpfile-linked-fsync
// files: fs/f2fs/dir.c
//
// What is changed. A file that was made without a name leaves the orphans when it gets one. It no longer does.
//
// Why it loses what was promised. A checkpoint holds the numbers of the inodes that have no name and are open
// (orphans), and the mount after a power failure frees them. It frees this one as well, and the name leads
// nowhere.
//
// Why it is silent otherwise. Only the checkpoint while the file is in memory lists it, and only a mount after a
// power failure reads the list.
//
// Seen with: O_TMPFILE, linkat, fsync.

@@
expression sbi, inode;
@@
- if (inode->i_nlink == 0)
-	f2fs_remove_orphan_inode(sbi, inode->i_ino);
