// A reservation that goes across the end of a file is cut at the end
//
// re-creates: f135cea30de5 ("btrfs: fix partial loss of prealloc extent past i_size after fsync") (in v5.7),
//             fstests btrfs/211. This takes its condition out again.
// caught by:  durable
// workloads:  reserved-across-end-and-behind
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. Before fsync logs the reservations behind the end of a file it cuts what the log has
// there already: from the end of the file on, or, when a reservation goes across the end, from that one's
// end on. The latter is taken out.
//
// Why it loses space. The reservation across the end has been logged by then and is cut at the end of the
// file. Replay gives the file the shorter one, and what it had behind the end is lost.
//
// Why it is silent otherwise. It needs a second reservation behind the first. Data and size are right.

@@
identifier extent_end, i_size, truncate_offset;
@@
btrfs_log_prealloc_extents(...) {
<+...
- if (extent_end > i_size)
-	truncate_offset = extent_end;
...+>
}
