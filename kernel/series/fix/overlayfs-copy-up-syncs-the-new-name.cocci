// overlayfs puts the name of a file on disk when it has copied the file up
//
// profiles:   ext4-overlay
// workloads:  overwrite-fdatasync
// files: fs/overlayfs/copy_up.c
//
// A fix of our own for OVERLAY-1 (docs/findings/OVERLAY-1.md).
//
// What is changed. ovl_copy_up_tmpfile() syncs the copy before the copy has a name. Now it syncs it again when it has one. That
// costs a second fsync for each file that is copied up; a fix for use might sync in ovl_fsync() and in synchronous writes alone.
//
// How it was checked. With it the workload keeps its promises on 6.12.

@@
identifier c, err, ofs, tmpfile;
@@
  ovl_copy_up_tmpfile(struct ovl_copy_up_ctx *c)
  {
  ...
  struct ovl_fs *ofs = OVL_FS(c->dentry->d_sb);
  ...
  struct file *tmpfile;
  ...
  int err;
  <...
+ if (!err && c->stat.size && ovl_should_sync(ofs))
+ 	err = vfs_fsync(tmpfile, 0);
  fput(tmpfile);
  ...>
  }
