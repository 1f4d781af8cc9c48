// A hole in a file is left out of a full fsync
//
// re-creates: 0e56315ca147 ("Btrfs: fix missing hole after hole punching and fsync when using NO_HOLES"),
//             fstests btrfs/201; an earlier case of the class is fstests btrfs/159.
// caught by:  durable
// workloads:  punch-then-write
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. With the no-holes feature a hole has no item, so a full fsync walks the file's extents
// and logs an explicit hole for each gap. For a gap with an extent behind it that is no longer done; the
// gap at the end of the file is still logged.
//
// Why it loses data. Replay changes only what the log holds. Where a hole was punched after the last
// commit the old extent is still in the subvolume: after fsync and a power failure its bytes are back.
//
// Why it is silent otherwise. Fast fsyncs log the hole through its extent map. The tree that comes back is
// a valid one, of an earlier time.

@@
identifier prev_extent_end;
expression key;
statement list body;
@@
btrfs_log_holes(...) {
<+...
- if (prev_extent_end < key.offset) { body }
...+>
}
