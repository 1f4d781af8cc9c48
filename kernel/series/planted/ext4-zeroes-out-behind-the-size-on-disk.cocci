// ext4 makes reserved blocks written ones up to the size in memory, which the disk does not have yet
//
// re-creates: the bug before 801674f34ecf ("ext4: do not zeroout extents beyond i_disksize"). This takes it out again.
// caught by:  fsck
// profiles:   ext4-nodioread-nolock
// workloads:  reserved-tail-written-out-before-the-middle
// files: fs/ext4/extents.c
//
// What is changed. Where a part of a short reservation is written, ext4 fills the rest with zeros and makes all of it written,
// as far as the size of the file on disk. Now it goes as far as the size in memory.
//
// Why it does harm. The size in memory comes to the disk when the data at the end has been written. A commit before that
// leaves written blocks behind the end: e2fsck finds that the size should be larger.
//
// Why it is silent otherwise. By default (dioread_nolock) blocks become written ones only when their data is on disk.

@@
expression inode;
@@
- (EXT4_I(inode)->i_disksize + inode->i_sb->s_blocksize - 1)
+ (inode->i_size + inode->i_sb->s_blocksize - 1)
