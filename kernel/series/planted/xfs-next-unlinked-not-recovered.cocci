// xfs recovery does not link the files of an unlinked list
//
// re-creates: the class of ccf7c23fc129 ("xfs: Ensure inode allocation buffers are fully replayed") (in v2.6.35):
//             what recovery takes from the buffer of inodes on an unlinked list; cf. fstests generic/530.
// caught by:  fsck
// profiles:   xfs
// workloads:  unlinked-open-files-of-one-list
// files: fs/xfs/xfs_buf_item_recover.c
//
// What is changed. Of a buffer of inodes recovery takes the pointers to the next inode of the unlinked list alone.
// It no longer takes them.
//
// Why it loses what was promised. Recovery goes along the list from the group's header and ends at the first
// inode. The others have no name and are on no list that can be followed.
//
// Why it is silent otherwise. A list has one file mostly: there are 64 of them in each group.
//
// Seen with: two open files without names, whose inode numbers are 64 apart.

@@
identifier buffer_nextp, logged_nextp;
@@
- *buffer_nextp = *logged_nextp;
