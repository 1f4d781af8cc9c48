// Recovery of xfs goes on with the size that the filesystem had before it grew
//
// re-creates: 6a18765b54e2 ("xfs: update the file system geometry after recoverying superblock buffers") (in v6.12);
//             fstests xfs/609. This takes its change back.
// caught by:  mounts, quiet
// workloads:  grown-and-used-in-each-group
// profiles:   xfs-room
// files: fs/xfs/xfs_buf_item_recover.c fs/xfs/xfs_log_recover.c
// absent: 5.10 6.1 (the change is not in them)
// absent: 7.2 (there groups are set up in another way)
//
// What is changed. Recovery takes the size and the number of groups from the superblock when the whole log is replayed, and
// no longer when the superblock is.
//
// Why the mount fails. What was made in the new groups is in the log behind the superblock. Its blocks lie behind the end
// that recovery knows.
//
// Why it is silent otherwise. Recovery meets them only when the filesystem grew a moment ago, and the new groups are in use.
//
// Seen with: the filesystem grows, and a directory is made and fsynced in each group.

@@
identifier f = xlog_recover_do_primary_sb_buffer;
expression E;
@@
f(...)
{
<+...
  error = xlog_recover_do_reg_buffer(...);
- if (error)
-	return error;
+ if (error || orig_agcount)
+	return error;
...+>
}

@@
identifier f = xlog_do_recover;
expression sbp;
@@
f(...)
{
...
- xfs_sb_from_disk(sbp, bp->b_addr);
+ xfs_agnumber_t before = mp->m_sb.sb_agcount;
+ xfs_sb_from_disk(sbp, bp->b_addr);
+ error = xfs_update_last_ag_size(mp, before);
+ if (!error)
+	error = xfs_initialize_perag(mp, before, sbp->sb_agcount, sbp->sb_dblocks, &mp->m_maxagi);
+ mp->m_alloc_set_aside = xfs_alloc_set_aside(mp);
...
}
