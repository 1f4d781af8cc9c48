// btrfs commits where a file is fsynced that has lost all its names
//
// profiles:   btrfs
// workloads:  unlinked-open-file-fsync unlinked-synced-open-file-fsync
// absent:     7.2 (upstream 5e85262e542d is in it)
// files: fs/btrfs/tree-log.c
//
// For BTRFS-10 (docs/findings/BTRFS-10.md). Upstream 5e85262e542d ("btrfs: fix fsync of files with no hard links not
// persisting deletion") logs all inodes without links; here a full commit does, and for those alone that had a name:
// fix/btrfs-fsync-of-a-tmpfile-commits is for the others, so that each of the two removes one bug.
//
// How it was checked. With it the two workloads keep every promise on 6.12.

@@
@@
+ if (inode->vfs_inode.i_nlink == 0 && !(inode->vfs_inode.i_state & I_LINKABLE)) {
+	ret = BTRFS_LOG_FORCE_COMMIT;
+	goto end_no_trans;
+ }
  if ((btrfs_inode_in_log(inode, trans->transid) && list_empty(&ctx->ordered_extents)) || inode->vfs_inode.i_nlink == 0)
  { ... }
