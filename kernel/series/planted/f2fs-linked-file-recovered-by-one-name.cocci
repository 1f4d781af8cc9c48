// f2fs recovers a file with several names by one of them
//
// re-creates: 953a3e27e10f ("f2fs: fix to give correct parent inode number for roll forward") (in v3.10): fsync of
//             files that experienced hard links has to make a checkpoint.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// workloads:  unlinked-open-file-fsync renamed-files-fsynced-again-and-again
// files: fs/f2fs/file.c
//
// What is changed. An fsync of a file whose link count is not 1 makes a checkpoint. That is no longer a reason.
//
// Why it loses what was promised. An inode keeps one name only. Names that it got or lost are not recovered.
//
// Why it is silent otherwise. A new name marks the inode in another way, too, and that still makes a checkpoint.
//
// Seen with: unlink of an open file, its fsync.

@@
expression inode;
@@
need_do_checkpoint(...)
{
	<+...
-	inode->i_nlink != 1
+	inode->i_nlink > 1
	...+>
}
