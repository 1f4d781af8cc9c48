// btrfs logs the whole inode with the new name of a symlink
//
// profiles:   btrfs
// workloads:  synced-symlink-renamed
// absent:     5.10 (the bug does not show there)
// absent:     7.2 (upstream 953902e4fb4c is in it)
// upstream:   953902e4fb4c ("btrfs: set inode flag BTRFS_INODE_COPY_EVERYTHING when logging new name")
// files: fs/btrfs/tree-log.c
//
// For what FINDINGS.md tells ("A renamed symlink keeps its old name although its directory was fsynced").
//
// How it was checked. With it synced-symlink-renamed keeps every promise on 6.12.

@@
@@
  ctx.logging_new_name = true;
+ set_bit(BTRFS_INODE_COPY_EVERYTHING, &inode->runtime_flags);
