// A renamed file is lost when a new one takes its old name and is fsynced
//
// re-creates: 56f23fdbb600 ("Btrfs: fix file/data loss caused by fsync after rename and new inode"); fstests
//             generic/341, generic/342.
// caught by:  atomic, durable
// workloads:  rename-then-reuse-name rename-directory-then-reuse-name
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent:     5.10 (it has no add_conflicting_inode(), and logs such inodes in another way)
//
// What is changed. When a file is logged whose name led to another inode on disk, that one is logged, too, so
// that replay knows its new name (add_conflicting_inode()). An inode that an earlier transaction made is now
// passed over, as if its being on disk were enough; all of these are.
//
// Why it loses data. Replay gives the name to the new file, which unlinks the old one. Its new name is not in
// the log, so it has no link left and goes.
//
// Why it is silent otherwise. Replay does what it does for a file that was replaced: entries, link counts and
// free space agree, nothing warns, fsck is content.
//
// Seen with: sync with a/foo in it, `rename a/foo a/bar`, `write a/foo`, `fsync a/foo`.

@@
expression trans, inode;
@@
add_conflicting_inode(...)
{
<...
- if (!need_log_inode(trans, inode))
+ if (inode->generation < trans->transid || !need_log_inode(trans, inode))
  {...}
...>
}
