// Recovery of an exchange of blocks leaves out the blocks that are freed later in the log
//
// profiles:   xfs
// workloads:  defragment-of-a-new-map
// absent:     5.10 6.1 (not tried there)
// files: fs/xfs/xfs_inode_item_recover.c
//
// A fix of our own for XFS-11 (docs/findings/XFS-11.md), which does not show without that of XFS-10.
//
// What is changed. The owner in the blocks of a file's map is changed without those that the log cancels, where the map has
// one level of blocks. With more levels all is as before.
//
// Why. Such a block is freed by a transaction that comes after the exchange in the log. Its image is not replayed, so the block
// on disk may hold anything.
//
// How it was checked. With both fixes 5 recordings on 6.12 and 5 on 7.2, of 64 states each, are recovered in each state.

@@
@@
 #include "xfs_bmap_btree.h"
+#include "xfs_bit.h"
+#include "xfs_btree.h"
+
+/* The blocks below a root of level 1, without those that are freed later in the log. */
+static int
+powercut_change_owner(
+	struct xfs_inode		*ip,
+	struct xfs_ifork		*fork,
+	xfs_ino_t			new_owner,
+	struct list_head		*buffer_list)
+{
+	struct xfs_mount		*mp = ip->i_mount;
+	int				i;
+
+	for (i = 1; i <= be16_to_cpu(fork->if_broot->bb_numrecs); i++) {
+		__be64			*ptr = xfs_bmap_broot_ptr_addr(mp, fork->if_broot, i,
+							fork->if_broot_bytes);
+		xfs_daddr_t		at = XFS_FSB_TO_DADDR(mp, be64_to_cpu(*ptr));
+		struct xfs_buf		*bp;
+		int			error;
+
+		if (xlog_is_buffer_cancelled(mp->m_log, at, mp->m_bsize))
+			continue;
+		error = xfs_trans_read_buf(mp, NULL, mp->m_ddev_targp, at, mp->m_bsize, 0,
+				&bp, &xfs_bmbt_buf_ops);
+		if (error)
+			return error;
+		XFS_BUF_TO_BLOCK(bp)->bb_u.l.bb_owner = cpu_to_be64(new_owner);
+		xfs_buf_delwri_queue(bp, buffer_list);
+		xfs_buf_relse(bp);
+	}
+	return 0;
+}

@@
expression F, E;
@@
  xfs_recover_inode_owner_change(...) {
  <...
- error = xfs_bmbt_change_owner(NULL, ip, F, E, buffer_list);
+ if (be16_to_cpu(xfs_ifork_ptr(ip, F)->if_broot->bb_level) == 1)
+ 	error = powercut_change_owner(ip, xfs_ifork_ptr(ip, F), E, buffer_list);
+ else
+ 	error = xfs_bmbt_change_owner(NULL, ip, F, E, buffer_list);
  ...>
  }
