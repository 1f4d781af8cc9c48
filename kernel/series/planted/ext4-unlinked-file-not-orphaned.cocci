// ext4 does not put an unlinked file on the list of orphans
//
// re-creates: the class that fstests generic/530 asks about: files whose last name was gone when the power
//             failed have to be found again by recovery, and freed.
// caught by:  fsck
// profiles: ext4
// workloads: unlinked-synced-open-file-fsync
// files: fs/ext4/namei.c
//
// What is changed. When the last name of a file goes, __ext4_unlink() no longer adds the inode to the list
// of orphans. (Removed directories and files that a rename replaces are still added.)
//
// Why it loses space. The file is freed by whoever closes it last, in a later transaction. When the power
// fails before that, only the list would have told recovery of it. The inode has no name, no link and its
// blocks, for ever.
//
// Why it is silent otherwise. A file that nobody has open is freed by the same system call, so both parts
// nearly always share a transaction. Taking an inode that is not on the list off it is no error. A reader
// misses nothing: there is no name to miss.
//
// Seen with: an open file, unlink, and a commit before the close.

@@
identifier handle, inode;
@@
  __ext4_unlink(...)
  {
  <...
- if (!inode->i_nlink)
- 	ext4_orphan_add(handle, inode);
  ...>
  }
