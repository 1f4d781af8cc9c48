// btrfs commits where an fsync follows the enabling of verity
//
// profiles:   btrfs-verity
// config:     verity
// workloads:  verified-file-fsynced
// absent:     5.10, 6.1 (whether the bug shows there was not tried)
// files: fs/btrfs/verity.c
//
// A fix of our own for what FINDINGS.md tells ("A file that becomes verified cannot be opened after its fsync").
//
// What is changed. The transaction that gives the inode its flag asks for a full commit in place of the log, which has
// the flag, and none of the items that hold the descriptor and the tree of hashes.
//
// How it was checked. With it the workloads of the theme verity keep every promise on 6.12 and 7.2.

@@
@@
  #include "locking.h"
+ #include "tree-log.h"

@@
struct btrfs_inode *inode;
@@
+ btrfs_set_log_full_commit(trans);
  inode->ro_flags |= BTRFS_INODE_RO_VERITY;
