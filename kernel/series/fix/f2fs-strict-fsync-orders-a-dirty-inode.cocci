// f2fs with fsync_mode=strict orders data before the node where the inode is dirty, too
//
// profiles:   f2fs-strict
// workloads:  small-files-on-disk-outgrow-their-inodes
// files: fs/f2fs/file.c
//
// A fix of our own for F2FS-9 (docs/findings/F2FS-9.md), in strict mode.
//
// What is changed. f2fs_do_sync_file() decides on the order of an atomic write behind the place from which it goes on
// for an inode that is dirty. Now it decides there, too.
//
// How it was checked. With it the workload above keeps in model R the promise that F2FS-9 breaks, on 6.12.

@@
expression inode, datasync;
identifier atomic;
@@
  f2fs_do_sync_file(..., bool atomic)
  {
  <...
  if (!f2fs_skip_inode_update(inode, datasync)) {
  	f2fs_write_inode(inode, NULL);
+ 	if (F2FS_OPTION(F2FS_I_SB(inode)).fsync_mode == FSYNC_MODE_STRICT)
+ 		atomic = true;
  	goto go_write;
  }
  ...>
  }
