// ext4 leaves a file in the orphan file after a direct write that another writer overtook
//
// re-creates: the class of acf943e9768e ("ext4: Fix checks for orphan inodes") (in v6.18): a check that knows the list of
//             orphans and not the orphan file; fstests ext4/307.
// caught by:  durable
// profiles:   ext4-orphan-file
// workloads:  direct-write-over-unwritten-data-then-removed
// absent: 5.10 (there is no orphan file)
// files: fs/ext4/file.c
//
// What is changed. The last look at a direct write asks whether the inode is on the list of orphans, and does not know the
// orphan file. The check that the fix replaced asked nearly so, but read the number in the file where the list has its
// pointer, and so was right by chance.
//
// Why it is wrong. A direct write that begins behind the size on disk makes its file an orphan first. It writes out what the
// cache has of the same range, and that moves the size on disk. Then only this last look takes the file off again. The entry
// stays when the inode leaves the memory, and outlives the file: it names an inode that is free, or another file.
//
// Recovery cuts an orphan that has a name to its size, which sets the times of a file that was fsynced.
//
// Why it is silent otherwise. The size is right, and no byte is lost where nothing is behind the end.

@@
@@
ext4_inode_extension_cleanup(struct inode *inode, ...)
{
<...
- ext4_inode_orphan_tracked(inode)
+ (!ext4_test_inode_state(inode, EXT4_STATE_ORPHAN_FILE) && !list_empty(&EXT4_I(inode)->i_orphan))
...>
}
