// The new size of a file that got a name or an attribute is left out of fsync
//
// re-creates: e4545de5b035 ("Btrfs: fix fsync data loss after append write"), fstests generic/090.
// caught by:  durable
// workloads:  append-to-long-file-after-link append-after-link
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. After a link or a change of extended attributes (BTRFS_INODE_COPY_EVERYTHING) an fsync copies
// the inode's items from those leaves of the tree that this transaction has changed. When the inode item was in
// none of them it has to be logged from memory, which is left out.
//
// Why it loses data. A write changes the size in memory only, the item follows when the data is on disk. The log
// gets the extents and no size, so after replay the file ends where it did.
//
// Why it is silent otherwise. As soon as the item's leaf was changed, by whatever lies in it, the item is copied;
// its size is then taken from memory. A plain fast fsync always logs the item.
//
// Seen with: a file with two names, synced; append, fsync.

@@
identifier need;
@@
btrfs_log_inode(...)
{
<+...
- if (need) {
+ if (need && !xattrs_logged) {
  	\( ret = log_inode_item(...); \| err = log_inode_item(...); \)
  	...
  }
...+>
}
