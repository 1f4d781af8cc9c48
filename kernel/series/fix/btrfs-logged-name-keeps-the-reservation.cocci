// btrfs replay leaves the extents of a file alone if the log has only its name
//
// profiles:   btrfs
// workloads:  linked-file-keeps-reservation renamed-file-keeps-reservation
// files: fs/btrfs/tree-log.c
//
// A fix of our own for what FINDINGS.md tells ("Space reserved behind the end of a file is lost when its directory is
// fsynced").
//
// What is changed. Replay drops what lies behind the size of an inode before it replays the inode's extents. An inode
// that is logged to say that it exists (LOG_INODE_EXISTS) has no extents in the log, and generation 0 in its item
// there; of such an inode replay now drops nothing.
//
// How it was checked. With it both workloads keep every promise on 6.12.

@@
@@
- if (S_ISREG(mode))
+ if (S_ISREG(mode) && btrfs_inode_generation(eb, inode_item))
  {
    ...
    btrfs_drop_extents(...)
    ...
  }
