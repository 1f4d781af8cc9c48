// f2fs does not note that a renamed file has another parent
//
// re-creates: b2c082991249 ("f2fs: do checkpoint for the renamed inode"), which added what is taken out here;
//             fstests generic/322.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// workloads:  renamed-files-fsynced-again-and-again
// files: fs/f2fs/namei.c
//
// What is changed. f2fs_rename() marks the inode of a file, so that its next fsync makes a checkpoint. It no
// longer does.
//
// Why it loses what was promised. The fsync writes the nodes of the file alone, and recovery leaves the old name.
//
// Why it is silent otherwise. Where the rename is committed by anything else, nothing is lost.
//
// Seen with: creat, fsync, rename, fsync.

@@
identifier old_inode;
@@
f2fs_rename(...)
{
	<+...
-	file_lost_pino(old_inode);
+	(void)old_inode;
	...+>
}
