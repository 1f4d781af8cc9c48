// rmdir does not note that a directory was removed
//
// re-creates: 999757231c49 ("btrfs: fix missing last_unlink_trans update when removing a directory") (in v7.1). This takes
//             its call out again.
// caught by:  durable, mounts
// workloads:  removed-directory-fsynced-by-descriptor
// profiles:   btrfs
// files: fs/btrfs/inode.c
// absent: 5.10 6.1 6.12 (there an fsync of a directory without a name does nothing: BTRFS-10)
//
// What is changed. rmdir notes in the removed directory and in its parent that a name was removed in this transaction. The
// note makes an fsync of the removed directory commit. It is not taken.
//
// Why it breaks. The fsync logs a directory without names, and nothing of its parent. Replay leaves the name in the parent.
//
// Why it is silent otherwise. Who fsyncs a directory that was removed? The next commit has the removal.
//
// Seen with: a directory is opened, removed and fsynced through its descriptor.

@@
@@
btrfs_rmdir(...)
{
<...
- btrfs_record_unlink_dir(...);
...>
}
