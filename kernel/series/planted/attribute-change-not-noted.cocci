// An fsync does not see that only a file's mode, owner or times were changed
//
// re-creates: the class of fstests generic/535: a mode that was changed and fsynced is to be there after a power
//             failure.
// caught by:  durable
// workloads:  chmod-fsync utimes-fsync
// profiles:   btrfs
// files: fs/btrfs/inode.c
//
// What is changed. A change of attributes ends in btrfs_dirty_inode(), which updates the inode and notes in which
// transaction and in which log that was (last_trans, last_sub_trans). Now it updates the inode and makes no note.
//
// Why it loses what was fsynced. fsync asks these notes whether anything changed since the last commit or the last
// log, and returns at once.
//
// Why it is silent otherwise. The inode is as it should be, and the next commit, at most 30 seconds later, brings it
// to the disk. A write, a new name or an extended attribute makes the note.
//
// Seen with: a synced file or directory, chmod or utimes, its fsync.

@@
expression list E;
@@
btrfs_dirty_inode(...)
{
<+...
- btrfs_update_inode(E)
+ btrfs_delayed_update_inode(E)
...+>
}
