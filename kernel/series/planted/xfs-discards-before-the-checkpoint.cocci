// Freed blocks are discarded before the checkpoint of the log that frees them is written
//
// re-creates: the class of e84661aa84e2 ("xfs: add online discard support") (in v3.5), which discards when the checkpoint is on
//             disk.
// caught by:  durable, historical, fsck, mounts
// profiles: xfs-discard
// workloads: removed-file-trimmed, cut-file-trimmed, replaced-file-trimmed
// files: fs/xfs/xfs_log_cil.c
//
// What is changed. xlog_cil_push_work() discards the blocks before it writes the checkpoint. They are discarded when that is on
// disk.
//
// Why it loses data. A crash before the checkpoint brings the file back, and its blocks are zeros.
//
// Why it is silent otherwise. Only a mount with discard is concerned. Nobody reads a freed block but after a crash.

@@
expression ctx, whiteouts, iovecs, bytes;
iterator name list_for_each_entry;
@@
xlog_cil_push_work(...)
{
<...
  xlog_cil_build_lv_chain(ctx, whiteouts, iovecs, bytes);
+ if (xfs_has_discard(log->l_mp)) {
+ 	struct xfs_mount *mp = log->l_mp;
+ 	struct xfs_extent_busy *busyp;
+
+ 	list_for_each_entry(busyp, &ctx->busy_extents.extent_list, list)
+ 		if (!(busyp->flags & XFS_EXTENT_BUSY_SKIP_DISCARD))
+ 			blkdev_issue_discard(mp->m_ddev_targp->bt_bdev,
+ 					     XFS_AGB_TO_DADDR(mp, busyp->agno, busyp->bno),
+ 					     XFS_FSB_TO_BB(mp, busyp->length), GFP_NOFS);
+ }
...>
}
