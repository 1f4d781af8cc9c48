// xfs logs the size in memory when it gives reserved blocks back
//
// re-creates: fstests generic/705: a size that is logged before the data when the blocks behind the end are freed.
// caught by:  historical
// profiles:   xfs
// workloads:  appended-files-then-fsync-other
// files: fs/xfs/xfs_bmap_util.c
//
// What is changed. A file that grows gets blocks behind its end in advance. A close gives them back, and leaves the
// size on disk as it is. It now logs the size that the file has in memory.
//
// Why it loses data. The data has not been written yet. After the next log force and a power failure the file has
// its size, and zeros in place of what was appended.
//
// Why it is silent otherwise. The data is written later, as after any write. What was fsynced is not concerned, and
// the file is consistent.
//
// Seen with: write, append, fsync of another file.

@@
expression ip, fork, flags;
identifier tp;
@@
xfs_free_eofblocks(...)
{
<...
+ ip->i_disk_size = XFS_ISIZE(ip);
+ xfs_trans_log_inode(tp, ip, XFS_ILOG_CORE);
  error = xfs_itruncate_extents_flags(&tp, ip, fork, XFS_ISIZE(ip), flags);
...>
}
