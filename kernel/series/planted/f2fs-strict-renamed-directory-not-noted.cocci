// With fsync_mode=strict f2fs does not note that a directory was renamed
//
// re-creates: the bug before "f2fs: enforce fsync_mode=strict for renamed directory". This takes it out again.
// caught by:  durable
// profiles:   f2fs-strict
// workloads:  rename-directory-new-file rename-directory-fsync-new-file
// config:     f2fs
// files: fs/f2fs/namei.c
//
// What is changed. In strict mode the first fsync of a new file writes a checkpoint where its directory was noted in a rename.
// The directories that the name moved between are still noted, but not a directory that got another name itself.
//
// Why it loses data. The fsync writes the node of the file alone. Recovery puts its name into the directory, which has its old
// name again.
//
// Why it is silent otherwise. A checkpoint between the rename and the fsync has the new name.

@@
expression sbi, inode, type;
@@
- if (S_ISDIR(inode->i_mode))
- 	f2fs_add_ino_entry(sbi, inode->i_ino, type);
