// ext4's rename over a file does not write the new file first
//
// re-creates: 8750c6d5fcbd ("ext4: Automatically allocate delay allocated blocks on rename") (in v2.6.30):
//             the empty files after a crash for which delayed allocation was known.
// caught by:  durable
// profiles: ext4
// workloads: replace-by-rename-committed-by-other
// files: fs/ext4/namei.c
//
// What is changed. ext4_rename() no longer calls ext4_alloc_da_blocks() for a file that takes the place of
// another.
//
// Why it loses data. The new file's blocks are only reserved, and its size on disk is still 0. A commit,
// say for the fsync of another file, puts the rename on disk without them: the old content is gone and the
// new one has not come.
//
// Why it is silent otherwise. An empty file is a good file; fsck has nothing to say. Programs that fsync
// before they rename never see it, and writeback puts it right within half a minute.
//
// Seen with: write to a new file, rename over the old one, fsync of a third.

@@
expression inode, other;
@@
- if (inode && !test_opt(other->i_sb, NO_AUTO_DA_ALLOC))
- 	ext4_alloc_da_blocks(...);
