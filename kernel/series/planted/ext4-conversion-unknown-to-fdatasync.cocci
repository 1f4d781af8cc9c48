// ext4's fdatasync does not know that unwritten extents were converted
//
// re-creates: the class of 8d5d02e6b176 ("ext4: async direct IO for holes and fallocate support") (in
//             v2.6.32) and b436b9bef84d ("ext4: Wait for proper transaction commit on fsync") (in v2.6.33):
//             fsync must not return before the transaction that converts the extents is on disk.
// caught by:  durable
// profiles: ext4
// workloads: overwrite-reserved-fdatasync direct-dsync-into-reserved
// files: fs/ext4/extents.c
//
// What is changed. When writeback is done and the extents under it are no longer unwritten, nobody notes
// that the file's data depends on this transaction (i_datasync_tid).
//
// Why it loses data. fdatasync waits for writeback, which ends after the conversion, and then for the
// transaction that i_datasync_tid names. That one is on disk already: fdatasync returns with data in blocks
// whose extent still says unwritten, which read as zeros.
//
// Why it is silent otherwise. In memory the extents are right. Unwritten extents are no error for fsck. fsync
// waits for i_sync_tid, which the change of the inode has moved; a file that grows is saved by the change of
// its size.
//
// Seen with: a write into a range that `fallocate` reserved, then fdatasync.

@@
expression handle, inode, path, F;
@@
  ext4_ext_handle_unwritten_extents(...)
  {
  <...
  if (F & EXT4_GET_BLOCKS_CONVERT) {
  	...
- 	ext4_update_inode_fsync_trans(handle, inode, 1);
  	...
  }
  ...>
  }
