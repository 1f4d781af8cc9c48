// A hole at the end of a file is left out of a full fsync
//
// re-creates: fstests generic/101 (cut, make longer again, fsync), a bug of the no-holes feature of btrfs.
// caught by:  durable
// workloads:  truncate-down-and-up
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. A full fsync with the no-holes feature logs explicit holes. The one between the last
// extent and the end of the file is no longer logged.
//
// Why it loses data. A file is cut and made longer again: what was cut away has to read as zeros. The log
// says only how long the file is, which is what it was before, so replay keeps the old extents.
//
// Why it is silent otherwise. A file that is only cut, or only made longer, comes out right: replay drops
// what lies behind the new size, and there is nothing behind the old one.

@@
identifier prev_extent_end, i_size;
statement list body;
@@
btrfs_log_holes(...) {
<+...
- if (prev_extent_end < i_size) { body }
...+>
}
