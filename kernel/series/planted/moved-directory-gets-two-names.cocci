// A directory that was moved has two names after replay, and the mount is refused
//
// re-creates: "Btrfs: fix for incorrect directory entries after fsync log replay"; fstests generic/343.
// caught by:  mounts, quiet
// workloads:  link-and-move-into-directory
// profiles:   btrfs
// absent:     5.10 (there btrfs_must_commit_transaction() asks, in another place)
// files: fs/btrfs/tree-log.c
//
// What is changed. An fsync that has to log a directory with its entries commits the transaction when something was
// moved out of that directory, or the directory itself was moved. Now only the inode that is fsynced is asked, and
// not the directories that are logged on its account.
//
// Why it breaks. The moved directory is logged under its new name, and the one that it left is not. Replay adds the
// new name to the old one: a directory with two links, which the checks of a leaf refuse.
//
// Why it is silent otherwise. The fsync of the moved directory, or of the one that it left, still commits. A file
// that has two names is no error.
//
// Seen with: sync with A/foo and B/dir in it, `link A/foo A/bar`, `rename B/dir A/dir`, `fsync A/bar`.

@@
identifier full, inode, trans, ctx;
@@
btrfs_log_inode(..., struct btrfs_inode *inode, ..., struct btrfs_log_ctx *ctx)
{
<+...
- if (full && inode->last_unlink_trans >= trans->transid)
+ if (full && inode->last_unlink_trans >= trans->transid &&
+     ((void *)ctx->inode == inode || (void *)ctx->inode == &inode->vfs_inode))
  { ... }
...+>
}
