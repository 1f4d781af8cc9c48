// xfs recovery maps blocks as unwritten where a mapping was left unfinished
//
// re-creates: the class of intents that recovery finishes in another way than they were meant; cf. fstests
//             xfs/312 and xfs/319.
// caught by:  durable
// profiles: xfs
// config: xfs-debug
// workloads: overwrite-of-shared-blocks-stops-at-mapping clone-stops-at-mapping
// absent: 5.10, 6.1 (recovery of a mapping stands in another function)
// files: fs/xfs/xfs_bmap_item.c
//
// What is changed. A mapping that was written down as an intent and not done is done by recovery. It now forgets
// that the blocks hold data.
//
// Why it loses data. Blocks that are mapped as unwritten are read as zeros: both the old bytes and the new ones
// are gone, though every count is right.
//
// Why it is silent otherwise. The intent and its end are mostly in one record of the log, so recovery finds
// nothing to finish. It takes an error, or a full record, between the two.
//
// Seen with: shared blocks written over, or a clone, and the error tag bmap_finish_one.

@@
identifier bi, map;
@@
- bi->bi_bmap.br_state = (map->me_flags & XFS_BMAP_EXTENT_UNWRITTEN) ? XFS_EXT_UNWRITTEN : XFS_EXT_NORM;
+ bi->bi_bmap.br_state = XFS_EXT_UNWRITTEN;
