// ext4's fdatasync commits data that were written into the inode
//
// profiles:   ext4-inline-data
// workloads:  small-files-overwritten-in-their-inodes
// files: fs/ext4/inline.c
// absent: 5.10 (there the code is of another form)
//
// A fix of our own for EXT4-23 (docs/findings/EXT4-23.md).
//
// What is changed. A write into an inode notes its transaction as the one that fdatasync has to commit, also where the size stays.
//
// How it was checked. With it the workload above keeps the promise that EXT4-23 breaks, on 6.12.

@@
symbol handle, inode, copied;
@@
ext4_write_inline_data_end(...)
{
<...
  if (likely(copied))
- 	mark_inode_dirty(inode);
+ {
+ 	mark_inode_dirty(inode);
+ 	ext4_update_inode_fsync_trans(handle, inode, 1);
+ }
...>
}
