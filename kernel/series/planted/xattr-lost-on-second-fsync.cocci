// A file's xattrs vanish when it is fsynced again in a later transaction
//
// re-creates: 9a8fca62aacc ("Btrfs: fix xattr loss after power failure") (in v4.17), fstests generic/489;
//             close kin of 36283bf777d9 ("Btrfs: fix fsync xattr loss in the fast fsync path") (in v4.2).
// caught by:  durable
// profiles: btrfs
// workloads: xattrs-over-two-fsyncs
// absent:     5.10 (there every fsync that is not a fast one logs all xattrs anew)
// files: fs/btrfs/tree-log.c
//
// What is changed. A fast fsync (inode without NEEDS_FULL_SYNC and COPY_EVERYTHING) logs only the inode
// item and the changed extents, and then all xattrs once per transaction. The last step is taken out, so
// the log holds the inode without its xattrs.
//
// Why it loses data. Replay treats the log as the whole truth about the xattrs of a logged inode:
// replay_xattr_deletes() removes from the subvolume every xattr that the log does not hold. An xattr that
// was on disk before, and whose file was only written to and fsynced since, is gone.
//
// Why it is silent otherwise. Removing xattr items is what replay does after a real removexattr: tree,
// checksums and link counts stay right, nothing warns, fsck is content, data and size are those fsynced,
// and a state before the second fsync still has the xattr. Only who remembers it can tell.
//
// Seen with: a file with an xattr that was synced and whose inode has since had no change of names or
// xattrs (fsynced once, or evicted), then `write` and `fsync` in a new transaction.

@@
expression trans, inode;
identifier xattrs_logged;
statement list body;
@@
- if (!xattrs_logged && inode->logged_trans < trans->transid) { body }
