// f2fs does not call an open file that a rename replaced an orphan
//
// re-creates: fstests generic/530: unlinked files are open when the filesystem stops.
// caught by:  fsck
// profiles:   f2fs
// config:     f2fs
// workloads:  tmpfile-and-unlinked-file-at-a-commit
// files: fs/f2fs/namei.c
//
// What is changed. f2fs_rename() no longer puts what it replaced among the orphans.
//
// Why it loses what was promised. A checkpoint holds the numbers of the inodes that have no name and are open
// (orphans), and the mount after a power failure frees them. The inode and its blocks now belong to nobody.
//
// Why it is silent otherwise. Closing the file frees it. What is not open is freed at once.
//
// Seen with: rename over an open file, sync, a power failure.

@@
expression sbi;
identifier new_inode;
@@
-	if (!new_inode->i_nlink)
-		f2fs_add_orphan_inode(new_inode);
-	else
-		f2fs_release_orphan_inode(sbi);
+	f2fs_release_orphan_inode(sbi);
