// Replay forgets to give back the bytes of extents that it replaces
//
// re-creates: the class of "Btrfs: make sure nbytes are right after log replay": the count of bytes
//             in an inode is wrong after replay.
// caught by:  fsck
// workloads:  overwrite-in-place
// profiles:   btrfs
// absent:     5.10 (there btrfs_drop_extents() itself takes off what it drops)
// files: fs/btrfs/tree-log.c
//
// What is changed. Replay of an extent drops what lies in its range and puts the new one there. The
// inode's count of bytes is raised by the new extent, and no longer lowered by what was dropped.
//
// Why it breaks. st_blocks is too large from then on, and quotas with it.
//
// Why it is silent otherwise. Names, sizes and bytes are right, and no system call fails. It is the
// checker that counts.

@@
expression inode, nbytes, drop_args;
@@
- btrfs_update_inode_bytes(inode, nbytes, drop_args.bytes_found);
+ btrfs_update_inode_bytes(inode, nbytes, 0);
