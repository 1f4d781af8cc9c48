// fsync on btrfs does not log data in the tree that a clone put there
//
// re-creates: the class of 05a5a7621ce6 ("Btrfs: implement full reflink support for inline extents") (in v5.7): a clone
//             changes items behind the back of the list of what fsync has to log, so it must ask for a full fsync.
// caught by:  durable
// profiles:   btrfs
// workloads:  small-file-cloned-over-a-small-file
// files: fs/btrfs/reflink.c
//
// What is changed. A clone of data that lies in the tree, to the start of a file, no longer asks for a full fsync.
//
// Why it loses data. A fast fsync logs the extents that were written. The clone wrote none: the log has the new size and not
// the bytes.
//
// Why it is silent otherwise. A file that was not fsynced since it was read into memory is logged in full, and larger data is
// shared by other code.
//
// Seen with: fsync of a small file, sync, clone of another small file over it, fsync.

@@
expression E;
@@
clone_copy_inline_extent(...)
{
<...
(
- btrfs_set_inode_full_sync(E);
|
- set_bit(BTRFS_INODE_NEEDS_FULL_SYNC, E);
)
...>
}
