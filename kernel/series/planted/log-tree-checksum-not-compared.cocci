// Blocks of the log tree are taken for good without their checksum
//
// re-creates: for the log tree what the mount option rescue=ignoremetacsums (in v6.12) asks for, without a word and
//             without being asked for.
// caught by:  detected, noticed
// profiles:   btrfs
// damage:     sweep
// workloads:  append-fsync-repeated xattrs-over-two-fsyncs
// files: fs/btrfs/disk-io.c
//
// What is changed. A block that says that it belongs to a log tree is not held against its checksum.
//
// Why it loses data. What a damaged block holds is replayed into the filesystem, and gets a checksum there that
// fits.
//
// Why it is silent otherwise. The disk must have damaged a block of the log between the fsync and the recovery; its
// place, its generation and the shape of its items are still checked. No power failure alone shows it.

@@
identifier f =~ "validate_(extent|metadata)_buffer$";
expression r, h, n;
@@
  f(...) {
<+...
- if (memcmp(r, h, n) != 0)
+ if (btrfs_header_owner(eb) != BTRFS_TREE_LOG_OBJECTID && memcmp(r, h, n) != 0)
  { ... }
...+>
}

// 5.10
@@
identifier f = btrfs_validate_metadata_buffer;
expression r, at, n;
@@
  f(...) {
<+...
- if (memcmp_extent_buffer(eb, r, at, n))
+ if (btrfs_header_owner(eb) != BTRFS_TREE_LOG_OBJECTID && memcmp_extent_buffer(eb, r, at, n))
  { ... }
...+>
}
