// A removed attribute comes back, and a new link is gone, although an fsync came after them
//
// re-creates: the second case of fstests generic/066, whose fix is 4f764e515361 ("Btrfs: remove deleted xattrs on
//             fsync log replay"): a file in the log that gets a link is logged again, as it is then.
// caught by:  durable
// workloads:  removexattr-link-fsync-other link-then-fsync-other
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. A link or rename of a file that is in the log puts the new name into the log. It is now put there
// for a rename alone, which has an old name to take out; of a link the old name stays true.
//
// Why it loses data. The next fsync of anything writes the log with the file as it was at its own fsync: the link is
// not in it, nor what changed in its attributes since.
//
// Why it is silent otherwise. The file has one name and a link count of 1, as it had; nothing warns, fsck is content.
//
// Seen with: sync with foo and an attribute of it in it, `append foo`, `fsync foo`, `removexattr foo`, `link foo bar`,
// `creat baz`, `fsync baz`.

@@
statement S;
@@
btrfs_log_new_name(...)
{
<...
  if (!S_ISDIR(inode->vfs_inode.i_mode)) S
+ if (!old_dir)
+   return;
...>
}
