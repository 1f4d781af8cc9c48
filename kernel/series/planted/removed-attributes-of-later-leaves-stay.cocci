// btrfs' replay removes attributes of the first leaf only
//
// re-creates: no commit; the class of 4f764e515361 ("Btrfs: remove deleted xattrs on fsync log replay") (in v4.0): what
//             the log does not have must go from everywhere.
// caught by:  durable
// profiles:   btrfs
// workloads:  xattrs-removed-over-leaves-fsync
// absent:     7.2 (its loop over the leaves has another form)
// files: fs/btrfs/tree-log.c
//
// What is changed. Replay looks through the attributes of an inode, leaf by leaf, and deletes those that the log does not
// have. It stops at the end of the first leaf.
//
// Why it loses what was promised. A removed attribute whose item is in a later leaf is back.
//
// Why it is silent otherwise. The attributes of most files lie in one leaf.
//
// Seen with: attributes of 36 kilobytes, synced; some removed; fsync.

@@
identifier label, ret, root, path;
@@
replay_xattr_deletes(...)
{
<...
  ret = btrfs_next_leaf(root, path);
  if (ret > 0)
  	ret = 0;
- else if (ret == 0)
- 	goto label;
...>
}
