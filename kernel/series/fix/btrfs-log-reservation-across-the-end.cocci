// btrfs logs the reserved extent that goes across the end of a file, as it does those behind it
//
// profiles:   btrfs
// workloads:  reserved-tail-then-grown reserved-tail-then-rename
// absent:     5.10 (the bug does not show there)
// files: fs/btrfs/tree-log.c
//
// A fix of our own for what FINDINGS.md tells ("Space reserved across the end of a file is lost by fsync").
//
// What is changed. Of extents from earlier transactions, copy_items() leaves out those that begin before the end of the
// file, and btrfs_log_prealloc_extents(), of a fast fsync, as well. Both now take a reserved extent that goes
// across the end, too; the second truncates the log from where it begins.
//
// How it was checked. With it both workloads keep every promise on 6.12 and 7.2.

@@
attribute name AUTO_KFREE;
expression old, start, inode, trans;
@@
- old && start < i_size && inode->last_reflink_trans < trans->transid
+ old && inode->last_reflink_trans < trans->transid && start < i_size && (btrfs_file_extent_type(src, extent) != BTRFS_FILE_EXTENT_PREALLOC || start + btrfs_file_extent_num_bytes(src, extent) <= i_size)

@@
identifier extent_end;
@@
  btrfs_log_prealloc_extents(...)
  {
  <...
- truncate_offset = extent_end;
+ truncate_offset = key.offset;
  ...>
  }

@@
@@
  btrfs_log_prealloc_extents(...)
  {
  <...
- key.offset < i_size
+ key.offset < truncate_offset
  ...>
  }
