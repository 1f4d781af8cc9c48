// overlayfs syncs a file that it has copied up by a clone
//
// profiles:   btrfs-overlay
// workloads:  chmod-then-fsync-directory
// absent:     5.10 6.1 6.12 (fsync of a file without a name does nothing on btrfs there, which is BTRFS-11)
// files: fs/overlayfs/copy_up.c
//
// A fix of our own for OVERLAY-3 (docs/findings/OVERLAY-3.md).
//
// What is changed. ovl_copy_up_file() clones the data where it can, and then leaves out the fsync that it does after a copy.
// Now it does it in either case.
//
// How it was checked. With it the workload keeps its promises on 7.2.

@@
identifier new_file;
expression cloned, len, old_file;
@@
  cloned = vfs_clone_file_range(old_file, 0, new_file, 0, len, 0);
  if (cloned == len)
+ {
+ 	if (ovl_should_sync(ofs))
+ 		error = vfs_fsync(new_file, 0);
  	goto out_fput;
+ }
