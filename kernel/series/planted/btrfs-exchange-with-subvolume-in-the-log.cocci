// An exchange of a file and a subvolume on btrfs lets fsync write the log
//
// re-creates: the class of cdd1fedf8261 ("btrfs: add support for RENAME_EXCHANGE and RENAME_WHITEOUT"), which makes the next
//             fsync commit when either of the two is a subvolume. This forgets the second.
// caught by:  mounts, quiet
// profiles:   btrfs
// workloads:  subvolume-exchanged-with-a-file
// files: fs/btrfs/inode.c
//
// What is changed. When a file changes places with a subvolume that is named second, fsync no longer commits.
//
// Why it loses what was promised. A log tree has no entries of subvolumes. Replay gives the file its new name, and the
// subvolume, which had it, gets none or keeps one of two.
//
// Why it is silent otherwise. The names are right in memory and in the next commit.
//
// Seen with: fsync of a file and of its directory, exchange of the file and a subvolume, fsync of the file: the mount is refused.

@@
expression trans;
@@
btrfs_rename_exchange(...)
{
<+...
  if (new_ino == BTRFS_FIRST_FREE_OBJECTID) {
- btrfs_set_log_full_commit(trans);
  } else { ... }
...+>
}
