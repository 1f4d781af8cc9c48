// btrfs finds the new directories of a linked inode by its names, not by the opened dentry
//
// profiles:   btrfs
// workloads:  tmpfile-linked-into-new-directory
// files: fs/btrfs/tree-log.c
//
// A fix of our own for what FINDINGS.md tells ("A file that had no name is lost when it was linked into a new
// directory and fsynced").
//
// What is changed. log_all_new_ancestors() follows the opened name's directories where an inode has one link. Of a file
// made with O_TMPFILE that is the directory in which it was opened, not the one into which it was linked. An inode whose
// names changed in this transaction now takes the way of those with several links, which reads its references.
//
// How it was checked. With it the workload keeps every promise on 6.12.

@@
@@
  log_all_new_ancestors(...)
  {
  <...
- inode->vfs_inode.i_nlink < 2
+ inode->vfs_inode.i_nlink < 2 && inode->last_unlink_trans < trans->transid
  ...>
  }
