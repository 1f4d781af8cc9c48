// New entries of a directory are lost when the name of a removed directory in it was used again and fsynced
//
// re-creates: the class of 5630f7557de6 ("btrfs: do not skip logging new dentries when logging a new name"): a
//             directory counts as logged before the inodes that its new entries lead to are.
// caught by:  durable
// workloads:  reused-name-beside-many-new-names
// profiles:   btrfs
// absent:     5.10 (there log_conflicting_inodes() has no such call)
// files: fs/btrfs/tree-log.c
//
// What is changed. Before the new owner of a name is logged, its old owner is looked up. If that is a directory
// that was removed, its parent is logged with its entries, and then the inodes that the new ones lead to
// (log_new_dir_dentries()). The latter is left out.
//
// Why it loses files. The parent counts as logged. A later fsync of it finds it so and does nothing more. The log
// holds entries without their inodes, and replay passes over them.
//
// Why it is silent otherwise. Entries that are still delayed items are logged by log_new_delayed_dentries(), with
// their inodes. Only when so many names were made that btrfs wrote its delayed items into the tree (128, see
// BTRFS_DELAYED_BACKGROUND) is this the only place. An entry that is not replayed leaves nothing behind.
//
// Seen with: sync with A/x in it, 140 files made in A, `rmdir A/x`, `creat A/x`, `fsync A/x`, `fsync A`.

@@
@@
log_conflicting_inodes(...)
{
<+...
- if (!ret && ctx->log_new_dentries)
- 	ret = log_new_dir_dentries(...);
...+>
}
