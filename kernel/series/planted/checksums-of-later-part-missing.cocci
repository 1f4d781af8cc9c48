// Checksums of the wrong part of an extent are logged
//
// re-creates: the class of 40e046acbd2f ("Btrfs: fix missing data checksums after replaying a log tree"),
//             where an extent used in parts came back from the log without some checksums.
// caught by:  usable, consistent, durable, fsck, quiet
// workloads:  write-into-reserved
// profiles:   btrfs
// absent:     5.10 (there log_extent_csums() reckons the place in another way)
// files: fs/btrfs/tree-log.c
//
// What is changed. A full fsync copies file extent items into the log and looks up the checksums of the
// part of the disk extent that each item uses. The offset of that part within the extent is no longer
// added, so it takes the checksums of the extent's beginning.
//
// Why it loses data. After replay the blocks of an item with an offset (what is left of an extent whose
// beginning was written anew, or the written middle of a reservation) have no checksum. Reading them
// fails.
//
// Why it is silent otherwise. Items that use their extent from its start, nearly all, are right. While the
// filesystem is mounted nothing reads the log. The class is loud where it strikes: EIO, a line in the
// kernel log, and fsck misses the checksums.

@@
attribute name AUTO_KFREE;
@@
- disk_bytenr += extent_offset;
