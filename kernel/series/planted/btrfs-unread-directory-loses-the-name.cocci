// Replay leaves out a name whose directory cannot be read, and the mount goes on
//
// re-creates: 5f61b961599a ("btrfs: fix inode lookup error handling during log replay") (in v6.16), taken out of
//             add_inode_ref().
// caught by:  healed
// profiles:   btrfs-single
// absent:     5.10 6.1 (the fix is not in them)
// damage:     failing
// workloads:  link-into-directory-of-another-leaf
// files: fs/btrfs/tree-log.c
//
// What is changed. A name from the log is left out when its directory does not exist. Now it is left out when the lookup
// of that directory fails in any way, as before the fix.
//
// Why it loses data. The mount succeeds and frees the log. When the device can be read again, the name is gone and the
// number of links is that without it, though the file was fsynced.
//
// Why it is silent otherwise. It takes a directory that replay needs for this name alone: one that the log has anything
// of, or that is in a leaf with another such inode, was read before, and that error ends the mount.

@@
identifier f = add_inode_ref;
expression dir, parent_objectid, root;
@@
  f(...) {
  <...
  dir = btrfs_iget_logging(parent_objectid, root);
  if (IS_ERR(dir)) {
  ret = PTR_ERR(dir);
(
- if (ret == -ENOENT)
- 	ret = 0;
+ ret = 0;
|
- if (ret == -ENOENT)
- 	ret = 0;
- else
- 	btrfs_abort_log_replay(...);
+ ret = 0;
)
  dir = NULL;
  goto out;
  }
  ...>
  }
