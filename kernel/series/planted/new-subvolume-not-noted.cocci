// A directory does not note that a subvolume was made in it
//
// re-creates: the class of bf5bcf9a6fa0 ("btrfs: record new subvolume in parent dir earlier to avoid dir logging races"):
//             there the note came too late for an fsync beside it, here it never comes.
// caught by:  mounts, durable, quiet, consistent, fsck, usable
// workloads:  subvolume-made-fsync-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent: 5.10 6.1 (there every fsync commits after a subvolume was made)
//
// What is changed. An fsync of a directory in which a subvolume was made in this transaction commits, since the subvolume's
// root is nowhere on the disk yet. The note that makes it do so is not taken.
//
// Why the name leads nowhere. The log holds an entry for a tree that the last commit does not have.
//
// Why it is silent otherwise. The next commit has both, at most 30 seconds later, and throws the log away.
//
// Seen with: a subvolume is made, fsync of its directory.

@@
expression E;
@@
btrfs_record_new_subvolume(...)
{
...
- dir->last_unlink_trans = E;
...
}
