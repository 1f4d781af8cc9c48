// The target of a symlink leaves the inode for a block of its own, and the end of the block is not logged
//
// re-creates: b7cdc66be54b ("xfs: log local to remote symlink conversions correctly on v5 supers") (in v4.0)
// caught by:  durable, consistent, historical
// profiles: xfs
// workloads: symlinks-whose-targets-make-room-for-an-attribute
// files: fs/xfs/libxfs/xfs_symlink_remote.c
//
// What is changed. xfs_symlink_local_to_remote() logs as many bytes of the block as the target has. In front of the target the block
// has a header.
//
// Why it loses data. After a crash the end of the block is what it was on disk, and the target ends early.
//
// Why it is silent otherwise. The whole block is written in the end. The log takes pieces of 128 bytes, so that most lengths are
// logged whole all the same.

@@
expression tp, bp, ifp;
@@
xfs_symlink_local_to_remote(...)
{
<...
- xfs_trans_log_buf(tp, bp, 0, sizeof(struct xfs_dsymlink_hdr) + ifp->if_bytes - 1);
+ xfs_trans_log_buf(tp, bp, 0, ifp->if_bytes - 1);
...>
}
