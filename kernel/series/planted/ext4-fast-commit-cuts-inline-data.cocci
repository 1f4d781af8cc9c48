// ext4's fast commit has the first bytes of the data that an inode holds, and not the rest
//
// re-creates: 6c31a689b2e9 ("ext4: commit inline data during fast commit") (in v5.16), of which this takes out what makes
//             the whole inode part of the commit.
// caught by:  consistent, durable, mounts, quiet
// profiles:   ext4-fast-commit-inline
// workloads:  small-files-stay-in-their-inodes
// files: fs/ext4/fast_commit.c
// absent: 5.10 (there the code is of another form)
//
// What is changed. A fast commit writes of each inode its fields. Where the inode holds the data of its file, it is to write
// all of it, for behind the first 60 bytes the data stand among the extended attributes. It no longer does.
//
// Why it loses data. Replay has the size and the first 60 bytes. Behind them stands what the last full commit left, the
// inode does not fit together, and the mount is refused.
//
// Why it is silent otherwise. Files that do not fit into their inodes have no data there, and a full commit writes the block
// of the inode.

@@
expression inode, inode_len, size, fields;
statement S;
@@
- if (ext4_test_inode_flag(inode, EXT4_INODE_INLINE_DATA))
- 	inode_len = size;
- else
  if (size > fields) S
