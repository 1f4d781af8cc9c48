// Recovery of xfs refuses a symlink whose target would fit into the inode and is in a block
//
// re-creates: 38de567906d9 ("xfs: allow symlinks with short remote targets"). This takes its exception out again.
// caught by:  mounts, quiet
// workloads:  long-symlink-loses-its-attribute
// profiles:   xfs
// files: fs/xfs/libxfs/xfs_inode_buf.c
// absent: 5.10 (the exception is not in it)
//
// What is changed. An inode whose size fits into it must hold its contents itself. A symlink may have its target in a block
// all the same. That is no longer allowed.
//
// Why the mount fails. With attributes in the inode there was no room for the target. The last attribute goes, and the
// target stays in its block. Recovery reads the inode from the log and refuses it.
//
// Why it is silent otherwise. Nobody looks at an inode in this way that is in memory.
//
// Seen with: a symlink with an attribute and a target of 300 bytes; the attribute is removed, and something is fsynced.

@@
expression E;
@@
- E && fork_format != XFS_DINODE_FMT_EXTENTS
+ E
