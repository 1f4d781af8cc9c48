// A tree block of an earlier transaction is read for the one that its parent leads to
//
// re-creates: the class of https://github.com/kdave/btrfs-progs/issues/165, where tree blocks on a device were of a
//             transaction 90,000 before that of their parents, and the copy on another device was read
// caught by:  quiet durable
// models:   M
// profiles: btrfs-raid1
// workloads: deleted-subvolumes-are-dropped
// files: fs/btrfs/disk-io.c
//
// What is changed. btrfs_validate_extent_buffer() asks whether a block is newer than its parent says, and no more
// whether it is older.
//
// Why it loses data. A device that was away for a while has a tree block with a valid checksum in the place of a
// newer one. Where that copy is read first, the files are as they were.
//
// Why it is silent otherwise. A device that completed what it was sent has no older block in that place: a block is
// used again when the transaction that freed it is on disk.

@@
identifier check, eb;
@@
- check->transid && btrfs_header_generation(eb) != check->transid
+ check->transid && btrfs_header_generation(eb) > check->transid
