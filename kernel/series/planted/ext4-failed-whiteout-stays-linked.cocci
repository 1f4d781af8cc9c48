// A whiteout that was given up keeps its link count on disk
//
// re-creates: the class of 1524773425ae ("ext4: fix unttached inode after power cut with orphan file feature
//             enabled") (in v6.7)
// caught by:  fsck quiet
// profiles: ext4-orphan-file
// workloads: whiteout-refused-in-synchronous-directory
// files: fs/ext4/namei.c
//
// What is changed. ext4_rename() does not write the inode of a whiteout when the rename failed and the whiteout is
// dropped.
//
// Why it loses data. The inode is among the orphans, but has a link: recovery does not delete it, and it stays
// without a name.
//
// Why it is silent otherwise. Where orphans are a list, adding to it writes the inode. With a file of orphans the
// deletion of the inode follows, and a power failure has to come between the two.

@@
expression handle;
identifier whiteout;
@@
  drop_nlink(whiteout);
- ext4_mark_inode_dirty(handle, whiteout);
  ext4_orphan_add(handle, whiteout);
