// ext4's fdatasync does not know that the size has changed
//
// re-creates: "ext4: fix fdatasync() for files with only i_size changes" (in v3.7); fstests generic/392.
// caught by:  durable
// profiles: ext4
// workloads: append-few-bytes-fdatasync
// files: fs/ext4/inode.c
//
// What is changed. When ext4_do_update_inode() puts a size into the raw inode that differs from the one
// there, it also moves i_datasync_tid to the running transaction. That is taken out.
//
// Why it loses data. An append inside the last block allocates nothing, so the new size is all that
// changes. fdatasync writes the block, finds i_datasync_tid long committed, flushes the cache and returns.
// The bytes are on the disk, behind the end of the file.
//
// Why it is silent otherwise. An append that allocates moves i_datasync_tid on another path, fsync waits
// for i_sync_tid, and a file that ends one record early is a perfectly good file.
//
// Seen with: `append` of a few bytes (the profile's blocks have 1 KiB), then fdatasync.

@@
expression info, inode, raw;
identifier need;
@@
- if (READ_ONCE(info->i_disksize) != ext4_isize(inode->i_sb, raw))
- 	need = 1;

@@
expression info, inode, raw;
identifier need;
@@
  if (READ_ONCE(info->i_disksize) != ext4_isize(inode->i_sb, raw)) {
	...
- 	need = 1;
  }
