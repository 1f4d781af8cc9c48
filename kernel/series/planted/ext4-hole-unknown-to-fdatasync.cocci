// ext4's fdatasync does not know that a hole was punched
//
// re-creates: the class of fstests generic/392, which punches a hole, calls fdatasync and looks at the
//             size; here it is the bytes that come back.
// caught by:  durable
// profiles: ext4
// workloads: punch-hole-fdatasync
// files: fs/ext4/inode.c
//
// What is changed. ext4_punch_hole() no longer says that the file's data has changed in this transaction
// (i_datasync_tid).
//
// Why it loses data. The bytes are removed by metadata alone: blocks leave the extent tree. fdatasync has
// no page to write and no transaction to wait for, so what was punched is back after a power failure.
//
// Why it is silent otherwise. fsync waits for i_sync_tid, which ext4_mark_inode_dirty() has moved. A later
// write to the file moves i_datasync_tid after all. What comes back is the file's own old content.
//
// Seen with: a synced file, `fallocate punch-hole` inside it, fdatasync.

@@
identifier handle, inode;
@@
  ext4_punch_hole(...)
  {
  <...
- ext4_update_inode_fsync_trans(handle, inode, 1);
  ...>
  }
