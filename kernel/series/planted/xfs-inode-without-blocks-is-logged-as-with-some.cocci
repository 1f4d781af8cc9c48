// An inode that lost its last block says in the log that its map follows, and no map follows
//
// re-creates: no known bug; what clears the flag of a map where there is none to log.
// caught by:  durable, consistent, fsck
// profiles: xfs
// workloads: attributes-change-as-a-file-loses-its-last-block
// files: fs/xfs/xfs_inode_item.c
//
// What is changed. xfs_inode_item_format_data_fork() leaves XFS_ILOG_DEXT set for a file without extents.
//
// Why it loses data. Recovery counts what follows the inode in the log: it takes the attributes for the map, and finds no
// attributes.
//
// Why it is silent otherwise. Nothing else follows where the attributes were not changed in the same checkpoint.

@@
expression iip;
@@
xfs_inode_item_format_data_fork(...)
{
<...
- iip->ili_fields &= ~XFS_ILOG_DEXT;
...>
}
