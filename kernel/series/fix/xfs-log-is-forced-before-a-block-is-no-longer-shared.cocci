// xfs forces its log before it writes in place to a block of a file that had clones
//
// profiles:   xfs
// workloads:  clone-overwrites-truncated-block
// files: fs/xfs/xfs_iomap.c
//
// A fix of our own for XFS-3 (docs/findings/XFS-3.md).
//
// What is changed. A block that is not shared in memory may be shared on disk, until the log has the record that
// ended the sharing. Writes to a file that had clones now force the log where they find a block that is not shared.
// It costs a log force for each such write.
//
// How it was checked. With it the workload above keeps every promise on 6.12, in three recordings.

@@
@@
  #include "xfs_trans.h"
+ #include "xfs_log.h"

@@
identifier error;
symbol mp, shared, ip, imap;
@@
  xfs_buffered_write_iomap_begin(...)
  {
  <...
  error = xfs_bmap_trim_cow(ip, &imap, &shared);
  if (error)
  	goto out_unlock;
  if (!shared) {
+ 	error = xfs_log_force(mp, XFS_LOG_SYNC);
+ 	if (error)
+ 		goto out_unlock;
  	...
  }
  ...>
  }

@@
symbol mp, shared;
@@
  xfs_direct_write_iomap_begin(...)
  {
  <...
  if (shared)
  	goto out_found_cow;
+ error = xfs_log_force(mp, XFS_LOG_SYNC);
+ if (error)
+ 	goto out_unlock;
  ...>
  }
