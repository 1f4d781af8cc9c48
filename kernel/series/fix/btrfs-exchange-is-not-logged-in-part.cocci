// btrfs commits where an fsync follows an exchange of two names
//
// profiles:   btrfs
// workloads:  exchange-fsynced-with-new-file
// files: fs/btrfs/inode.c
// absent:     5.10 (the bug does not show there)
//
// A fix of our own for BTRFS-13, "The name of a fsynced file is lost when it is exchanged with a new file".
//
// What is changed. A rename with RENAME_EXCHANGE asks for a full commit in place of the log, which may have the new
// name of one of the two files and not that of the other.
//
// How it was checked. With it exchange-fsynced-with-new-file keeps every promise on 6.12.

@@
@@
+ btrfs_set_log_full_commit(trans);
  btrfs_log_new_name(trans, old_dentry, BTRFS_I(old_dir), old_rename_ctx.index, new_dentry->d_parent);
