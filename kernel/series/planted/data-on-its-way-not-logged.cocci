// An fsync is skipped although data of the file is on its way to the disk
//
// re-creates: fstests btrfs/236: an inode that was written since it was logged was taken for one that is in the log. This
//             takes out what skip_inode_logging() asks of extents that are on their way.
// caught by:  durable
// workloads:  fsync-after-commit-for-another written-while-its-fsync-waits
// profiles:   btrfs
// files: fs/btrfs/file.c
//
// What is changed. fsync returns early when the inode's last change is committed, or in a log that is on disk. A write
// is noted as a change when its ordered extents complete, so where one is under way fsync must go on all the same. It
// is no longer asked whether one is.
//
// Why it loses data. The data reaches the disk, and no extent item that leads to it, neither in the tree nor in a log.
//
// Why it is silent otherwise. A write moves the file's times, which is a change that is noted at once. Only when a
// commit or a log that another inode asked for takes the times, and leaves the data, does fsync find nothing else.
// And where the extents complete before it looks, it finds that.
//
// Seen with: a synced file is written, a file moves out of a directory, fsync of that directory, fsync of the file.

@@
identifier ctx;
expression E;
@@
skip_inode_logging(...)
{
<+...
(
- E && list_empty(&ctx->ordered_extents)
+ E
|
- (E || list_empty(&ctx->ordered_extents))
+ 1
)
...+>
}
