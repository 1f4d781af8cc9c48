// f2fs frees the first orphan of each block alone
//
// re-creates: the class of 76e589013fec ("xfs: allow inode inactivation during a ro mount log recovery") (in v6.6)
//             on another filesystem: a recovery after which files without names are never freed.
// caught by:  fsck
// profiles:   f2fs
// config:     f2fs
// workloads:  tmpfile-and-unlinked-file-at-a-commit
// files: fs/f2fs/checkpoint.c
//
// What is changed. The mount after a power failure reads blocks of orphans, and frees the first one of each block
// alone.
//
// Why it loses what was promised. The others have no name, and the next checkpoint forgets them.
//
// Why it is silent otherwise. Mostly there is no orphan, or one.
//
// Seen with: two open files without names, sync, a power failure.

@@
identifier j, entry_count;
@@
f2fs_recover_orphan_inodes(...)
{
	<+...
-	for (j = 0; j < entry_count; j++)
+	for (j = 0; j < entry_count && !j; j++)
	{ ... }
	...+>
}
