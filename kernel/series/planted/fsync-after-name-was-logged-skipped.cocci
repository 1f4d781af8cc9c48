// An fsync is skipped because the inode's name was logged
//
// re-creates: 9acc8103ab59 ("btrfs: fix unpersisted i_size on fsync after expanding truncate") (in v5.14),
//             fstests btrfs/243. This takes its condition out again.
// caught by:  durable
// workloads:  truncate-up-after-rename
// profiles:   btrfs
// absent:     5.10 (there the condition has another form and knows nothing of names)
// files: fs/btrfs/tree-log.c
//
// What is changed. An inode remembers up to which of its changes it is in a synced log (last_log_commit).
// Logging only that it exists must not move that mark, since it logs neither data nor size. Now it does.
//
// Why it loses the size. Another inode's fsync logs that this one exists. When its own fsync comes, the
// mark says that all is in the log already, and fsync returns without having done anything.
//
// Why it is silent otherwise. Data that still has to be written out makes the fsync a real one, so only a
// change without data is lost, and only where something else logged the inode in between.

@@
expression ctx, inode_only;
statement S;
@@
btrfs_log_inode(...) {
<+...
- if (!ctx->logging_new_name && inode_only != LOG_INODE_EXISTS)
+ if (!ctx->logging_new_name)
S
...+>
}
