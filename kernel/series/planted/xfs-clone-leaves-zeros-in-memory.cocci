// A clone behind the end of a file does not write out the zeros up to there
//
// re-creates: the class of 2c307174ab77 ("xfs: flush removing page cache in xfs_reflink_remap_prep") (in v4.20)
// caught by:  historical
// profiles: xfs
// workloads: cloned-behind-the-end-by-sync-descriptor cloned-behind-the-end-of-a-cut-file
// files: fs/xfs/xfs_reflink.c
//
// What is changed. xfs_reflink_remap_prep() writes out the range that is cloned to, and no more what lies between
// the end of the file and that.
//
// Why it loses data. The new size is in the log before the zeros of the last block are on disk: the bytes that a
// truncate had cut off are in the file again.
//
// Why it is silent otherwise. Zeros are written out some time later, and before an fsync of the file.

@@
identifier dest, pos_out;
@@
- pos_out > XFS_ISIZE(dest)
+ pos_out > dest->i_mount->m_super->s_maxbytes
