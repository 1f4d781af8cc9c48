// xfs recovery stops at the first empty list of unlinked inodes
//
// re-creates: the class of 76e589013fec ("xfs: allow inode inactivation during a ro mount log recovery")
//             (in v6.6): a recovery after which unlinked inodes are never freed; what came of them is told
//             in 68b957f64fca ("xfs: load uncached unlinked inodes into memory on demand") (in v6.6); cf.
//             fstests generic/530.
// caught by:  fsck
// profiles: xfs
// workloads: unlinked-synced-open-file-fsync unlinked-open-file-fsync
// files: fs/xfs/xfs_log_recover.c
//
// What is changed. Recovery goes through the 64 lists of each allocation group and stops at the first that
// is empty.
//
// Why it loses space. An inode whose last name is gone is put on a list by the transaction that removes the
// name, and freed by a later one. When the power fails between the two, recovery has to free it. The first
// list is mostly empty, so nothing is freed: the inode and its blocks belong to nobody.
//
// Why it is silent otherwise. Names, counts and content of all that has a name are right, the mount is
// quiet, and space leaks slowly. Only the checker looks at the lists.
//
// Seen with: unlink of an open file and an fsync of it; or unlink and, before the inode is freed in the
// background, an fsync of something else (unlink-recreate-fsync, unlink-fsync-directory).

@@
identifier bucket;
@@
  for (bucket = 0; bucket < XFS_AGI_UNLINKED_BUCKETS; bucket++) {
+ 	if (agi->agi_unlinked[bucket] == cpu_to_be32(NULLAGINO))
+ 		break;
  	...
  }
