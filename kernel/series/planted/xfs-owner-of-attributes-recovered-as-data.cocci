// Recovery of xfs takes the blocks of attributes for blocks of data where it notes their owner
//
// re-creates: the class of fstests xfs/317; what an intent of the tree of owners has to say of a block.
// caught by:  fsck
// profiles:   xfs-rmapbt xfs-wsync
// config:     xfs-debug
// workloads:  attribute-stops-at-owner
// files: fs/xfs/xfs_rmap_item.c
//
// What is changed. An intent to note or strike out an owner no longer says that the block is one of attributes.
//
// Why it breaks. Recovery notes the block as one of data, or seeks the entry of a block of data, which is not there.
//
// Why it is silent otherwise. In life the intent is not read.
//
// Seen with: an attribute that is too large for its inode, with XFS stopped where the owner would be noted.

@@
expression E;
@@
(
- if (E->ri_whichfork == XFS_ATTR_FORK)
-	map->me_flags |= XFS_RMAP_EXTENT_ATTR_FORK;
|
- if (whichfork == XFS_ATTR_FORK)
-	E->me_flags |= XFS_RMAP_EXTENT_ATTR_FORK;
)
