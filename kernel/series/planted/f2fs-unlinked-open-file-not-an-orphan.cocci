// f2fs does not call an open file that lost its last name an orphan
//
// re-creates: fstests generic/530: unlinked files are open when the filesystem stops.
// caught by:  fsck
// profiles:   f2fs
// config:     f2fs
// workloads:  tmpfile-and-unlinked-file-at-a-commit unlinked-open-file-fsync
// files: fs/f2fs/dir.c
//
// What is changed. f2fs_drop_nlink() no longer puts an inode without links among the orphans.
//
// Why it loses what was promised. A checkpoint holds the numbers of the inodes that have no name and are open
// (orphans), and the mount after a power failure frees them. The inode and its blocks now belong to nobody.
//
// Why it is silent otherwise. Closing the file frees it.
//
// Seen with: unlink of an open file, sync, a power failure.

@@
expression sbi, inode;
@@
f2fs_drop_nlink(...)
{
	...
-	if (inode->i_nlink == 0)
-		f2fs_add_orphan_inode(inode);
-	else
-		f2fs_release_orphan_inode(sbi);
+	f2fs_release_orphan_inode(sbi);
}
