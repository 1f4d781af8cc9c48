// Replay counts the names of a new directory twice
//
// re-creates: the class of a2cc11db245b ("Btrfs: fix directory recovery from fsync log"),
//             fstests generic/034: after replay a directory is too long to ever be empty.
// caught by:  usable, consistent, fsck
// workloads:  link-into-new-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. The size of a btrfs directory is twice the length of all its names. Replay sets it to 0
// when it copies a directory's inode from the log, and adds each name's length as it inserts the name. It
// is no longer set to 0.
//
// Why it breaks. The logged size has the names in it already. When all names are removed again the size is
// not 0, and rmdir says ENOTEMPTY.
//
// Why it is silent otherwise. The names are right, nothing warns. Directories that were on disk before
// keep the size they had there. fsck does see it: no directory size can be wrong and please it.

@@
identifier f =~ "overwrite_item$";
expression eb, item, mode;
@@
f(...) {
<+...
- if (S_ISDIR(mode))
-	btrfs_set_inode_size(eb, item, 0);
...+>
}
