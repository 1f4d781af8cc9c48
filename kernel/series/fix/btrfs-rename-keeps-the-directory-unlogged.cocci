// btrfs does not log a directory between the two halves of a rename in it
//
// profiles:   btrfs
// workloads:  renamed-beside-fsyncs-of-a-neighbour
// absent:     5.10 6.1 6.12 (found and tried on 7.2, with two processors, which User Mode Linux of these does not
//             have)
// files: fs/btrfs/inode.c
//
// A fix of our own for BTRFS-18, "A file is lost that is renamed while its directory is logged for the first time".
//
// A task that logs the directory as a parent of another file reads its entries after the old name is gone and before
// the new one is there. btrfs_log_new_name() then asks whether the directory was logged, and is told that it was not,
// because the other task sets logged_trans when it has ended. So nobody adds the new name, and replay removes the
// file. The pin of the log only keeps the log from being synced before the rename has ended.
//
// Here the directory's log_mutex, under which it is logged, is held between the two halves. For the trial: of a rename
// between two directories nothing is changed.

@@
identifier pinned;
@@
btrfs_rename(...)
{
  ...
  bool pinned = false;
+ bool unlogged = false;
  ...
}

@@
@@
btrfs_rename(...)
{
<...
+ if (logs_pinned && old_dir == new_dir) {
+ 	mutex_lock(&BTRFS_I(old_dir)->log_mutex);
+ 	unlogged = true;
+ }
  if (old_dentry->d_parent != new_dentry->d_parent)
  	btrfs_record_unlink_dir(...);
...>
}

@@
expression inode, index;
@@
btrfs_rename(...)
{
<...
+ if (unlogged) {
+ 	mutex_unlock(&BTRFS_I(old_dir)->log_mutex);
+ 	unlogged = false;
+ }
  if (inode->i_nlink == 1)
  	BTRFS_I(inode)->dir_index = index;
...>
}

@@
expression root, dest;
@@
btrfs_rename(...)
{
<...
+ if (unlogged)
+ 	mutex_unlock(&BTRFS_I(old_dir)->log_mutex);
  btrfs_end_log_trans(root);
  btrfs_end_log_trans(dest);
...>
}
