// A scrub takes a tree block of an earlier transaction for a right one
//
// re-creates: the class of https://github.com/kdave/btrfs-progs/issues/1027, where a scrub found tree blocks of "bad
//             generation" on one of two devices
// caught by:  redundant
// models:   M
// profiles: btrfs-raid1
// workloads: deleted-subvolumes-are-dropped
// files: fs/btrfs/scrub.c
//
// What is changed. scrub_verify_one_metadata() asks whether a block is newer than the extent tree says, and no more
// whether it is older.
//
// Why it loses data. A device that was away for a while has a tree block with a valid checksum in the place of a
// newer one. The scrub leaves it there. Without the other device the trees cannot be read.
//
// Why it is silent otherwise. With both devices, each read compares the generation with that of the parent, and
// takes the other copy.

@@
identifier stripe, sector_nr, header;
@@
- stripe->sectors[sector_nr].generation != btrfs_stack_header_generation(header)
+ stripe->sectors[sector_nr].generation < btrfs_stack_header_generation(header)
