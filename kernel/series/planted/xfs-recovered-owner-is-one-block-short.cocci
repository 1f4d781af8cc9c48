// xfs recovery leaves the last block out where the owner of blocks was not yet noted
//
// re-creates: the class of intents that recovery finishes in part; cf. fstests xfs/314, xfs/317 and xfs/322.
// caught by:  fsck
// profiles: xfs-rmapbt
// config: xfs-debug
// workloads: new-file-stops-at-owner clone-stops-at-owner
// absent: 5.10, 6.1 (recovery of an owner stands in another function)
// files: fs/xfs/xfs_rmap_item.c
//
// What is changed. A change of the reverse mapping that was written down as an intent and not done is done by
// recovery. It now notes one block less than the intent says, where there is more than one.
//
// Why it does harm. The filesystem believes that the block belongs to nobody, and a later removal of the file stops
// it.
//
// Why it is silent otherwise. Names and content are right. The intent and its end are mostly in one record of the
// log, so recovery finds nothing to finish.
//
// Seen with: a new file written, and the error tag rmap_finish_one.

@@
identifier ri, map;
@@
- ri->ri_bmap.br_blockcount = map->me_len;
+ ri->ri_bmap.br_blockcount = map->me_len > 1 ? map->me_len - 1 : map->me_len;
