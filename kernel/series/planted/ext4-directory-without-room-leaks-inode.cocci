// ext4 keeps the inode of a directory for which it found no block
//
// re-creates: the class of fstests generic/269: a call that found no room leaves something behind, which only
//             the checker sees.
// caught by:  fsck
// profiles: ext4
// workloads: names-when-full
// files: fs/ext4/namei.c
//
// What is changed. mkdir allocates an inode, then a block for "." and "..". When there is none the error path
// takes the inode's only link away and puts it on the list of orphans, so that it is freed. Both are taken out.
//
// Why it loses space. The inode has a link and no name: nobody frees it, nothing leads to it.
//
// Why it is silent otherwise. A mkdir that finds its block does not come here, and one that does not tells of
// the right error; names, counts and bytes of all else are right, and the mount is quiet.
//
// Seen with: mkdir on a full filesystem.

@@
expression handle, inode;
@@
- clear_nlink(inode);
- ext4_orphan_add(handle, inode);
  unlock_new_inode(inode);
