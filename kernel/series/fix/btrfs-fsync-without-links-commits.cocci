// btrfs commits where a file without links is fsynced
//
// profiles:   btrfs
// workloads:  unlinked-open-file-fsync unlinked-synced-open-file-fsync tmpfile-fsynced-then-linked
// absent:     7.2 (upstream 5e85262e542d is in it)
// files: fs/btrfs/tree-log.c
//
// For what FINDINGS.md tells ("A removed file that is fsynced through its last descriptor comes back" and "What was
// fsynced before the file had a name is lost when only its directory is fsynced"). Upstream 5e85262e542d ("btrfs: fix
// fsync of files with no hard links not persisting deletion") logs such inodes; here a full commit does for both.
//
// How it was checked. With it the three workloads keep every promise on 6.12.

@@
@@
+ if (inode->vfs_inode.i_nlink == 0) {
+	ret = BTRFS_LOG_FORCE_COMMIT;
+	goto end_no_trans;
+ }
  if (
- (btrfs_inode_in_log(inode, trans->transid) && list_empty(&ctx->ordered_extents)) || inode->vfs_inode.i_nlink == 0
+ btrfs_inode_in_log(inode, trans->transid) && list_empty(&ctx->ordered_extents)
  ) { ... }
