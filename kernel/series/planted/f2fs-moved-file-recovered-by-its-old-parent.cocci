// f2fs recovers a renamed file though its parent is not known
//
// re-creates: b2c082991249 ("f2fs: do checkpoint for the renamed inode"); fstests generic/322.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// workloads:  renamed-files-fsynced-again-and-again
// files: fs/f2fs/file.c
//
// What is changed. An fsync of a file that was renamed or linked since the last checkpoint makes a checkpoint,
// because its inode does not say any more which directory has it. That is no longer a reason.
//
// Why it loses what was promised. The nodes are written alone, and recovery leaves the old name.
//
// Why it is silent otherwise. Where the rename is committed before the fsync, or by anything else, nothing is
// lost.
//
// Seen with: creat, fsync, rename, fsync.

@@
expression inode;
identifier reason;
@@
need_do_checkpoint(...)
{
	<+...
-	file_wrong_pino(inode)
+	(file_wrong_pino(inode) && inode->i_nlink != 1)
	...+>
}
