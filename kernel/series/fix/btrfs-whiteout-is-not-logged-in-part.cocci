// btrfs commits where an fsync follows a rename that left a whiteout
//
// profiles:   btrfs
// workloads:  fsynced-file-leaves-whiteout
// files: fs/btrfs/inode.c
//
// A fix of our own for what FINDINGS.md tells ("A whiteout is lost when the file that left it is fsynced").
//
// What is changed. A rename with RENAME_WHITEOUT asks for a full commit in place of the log, which has the new name
// and not the whiteout.
//
// How it was checked. With it fsynced-file-leaves-whiteout keeps every promise on 6.12.

@@
@@
+ btrfs_set_log_full_commit(trans);
  ret = btrfs_create_new_inode(trans, &whiteout_args);

@@
@@
+ btrfs_set_log_full_commit(trans);
  ret = btrfs_whiteout_for_rename(...);
