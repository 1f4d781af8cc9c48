// xfs does not log how much room the blocks of a directory have
//
// re-creates: the class of e400d27d1690 ("xfs: fix dir3 freespace block corruption") (in v3.10): blocks of the
//             free index of a directory that are wrong; seen by xfs/110.
// caught by:  fsck
// profiles:   xfs
// workloads:  names-in-a-directory-of-many-blocks
// files: fs/xfs/libxfs/xfs_dir2_node.c
//
// What is changed. A directory of many blocks has blocks of its own that say how much room each of the others has.
// A change of them is no longer logged.
//
// Why it loses what was promised. After recovery they have the room of before, and disagree with the blocks. The
// next use of the directory finds that, and the filesystem shuts down.
//
// Why it is silent otherwise. The buffer in memory is right, and goes to disk with the next logged change of the
// same block. No name is lost.
//
// Seen with: a directory of 530 long names, some of which are removed, and an fsync.

@@
@@
xfs_dir2_free_log_bests(...)
{
	...
-	xfs_trans_log_buf(...);
}
