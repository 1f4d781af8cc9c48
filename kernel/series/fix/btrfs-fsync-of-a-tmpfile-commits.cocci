// btrfs commits where a file is fsynced that never had a name
//
// profiles:   btrfs
// workloads:  tmpfile-fsynced-then-linked
// absent:     7.2 (upstream 5e85262e542d is in it)
// files: fs/btrfs/tree-log.c
//
// For BTRFS-11 (docs/findings/BTRFS-11.md). Upstream 5e85262e542d ("btrfs: fix fsync of files with no hard links not
// persisting deletion") logs all inodes without links; here a full commit does, and for those alone that O_TMPFILE
// made: fix/btrfs-fsync-of-a-removed-file-commits is for the others, so that each of the two removes one bug.
//
// How it was checked. With it the workload keeps every promise on 6.12.

@@
@@
+ if (inode->vfs_inode.i_nlink == 0 && (inode->vfs_inode.i_state & I_LINKABLE)) {
+	ret = BTRFS_LOG_FORCE_COMMIT;
+	goto end_no_trans;
+ }
  if ((btrfs_inode_in_log(inode, trans->transid) && list_empty(&ctx->ordered_extents)) || inode->vfs_inode.i_nlink == 0)
  { ... }
