// xfs recovery leaves the last block out where a reference count was left unfinished
//
// re-creates: the class of intents that recovery finishes in part; cf. fstests xfs/313, xfs/321 and xfs/326.
// caught by:  fsck
// profiles: xfs
// config: xfs-debug
// workloads: clone-stops-at-reference-count
// absent: 5.10, 6.1 (recovery of a reference count stands in another function)
// files: fs/xfs/xfs_refcount_item.c
//
// What is changed. A change of reference counts that was written down as an intent and not done is done by
// recovery. It now counts one block less than the intent says, where there is more than one.
//
// Why it does harm. A block that two files share counts as that of one file: whoever writes to it writes to both.
//
// Why it is silent otherwise. Names and content are right until somebody writes. The intent and its end are mostly
// in one record of the log, so recovery finds nothing to finish.
//
// Seen with: a clone, and the error tag refcount_finish_one.

@@
identifier ri, pmap;
@@
- ri->ri_blockcount = pmap->pe_len;
+ ri->ri_blockcount = pmap->pe_len > 1 ? pmap->pe_len - 1 : pmap->pe_len;
