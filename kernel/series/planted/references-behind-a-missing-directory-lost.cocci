// Replay passes over the other references of an item when the directory of one is missing
//
// re-creates: 24e066ded45b ("btrfs: don't skip remaining extrefs if dir not found during log replay") (in v6.17). This takes
//             it out again.
// caught by:  atomic, durable
// workloads:  names-with-equal-hashes
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent: 5.10 6.1 (the fix is not in them)
//
// What is changed. An item can hold several extended references of an inode, if their hashes are equal. Replay passes over
// a reference to a directory that does not exist, and goes on with the next one. It leaves the whole item instead.
//
// Why it loses a name. The references behind the missing directory are not replayed, and an entry of the fsynced directory
// that is among them is left to its reference.
//
// Why it is silent otherwise. Hashes of 32 bits are equal by chance alone, or by intent.
//
// Seen with: names with equal hashes in an old, a new and the old directory; fsync of the old one.

@@
expression ret;
@@
add_inode_ref(...)
{
<+...
	if (ret == -ENOENT) {
		ret = 0;
-		goto next;
	}
...+>
}
