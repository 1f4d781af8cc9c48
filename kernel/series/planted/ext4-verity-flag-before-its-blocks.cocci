// ext4 sets the flag of a verified file before it writes the tree of hashes
//
// re-creates: the class of a flag that says of other blocks that they are on disk, and gets there before them.
// caught by:  consistent
// profiles:   ext4-verity
// config:     verity
// workloads:  verity-beside-fsync
// files: fs/ext4/verity.c
//
// What is changed. ext4_end_enable_verity() writes all pages of the file, those of the hashes behind its end too, and waits for
// them, before the transaction that sets the flag. The planted bug does so after that transaction.
//
// Why it breaks. A commit that another task asks for in between puts the flag on disk without the hashes. After a power failure
// the file cannot be opened: where its descriptor is, the last block behind its end tells.
//
// Why it is silent otherwise. When the ioctl returns all is written, so that an fsync after it finds nothing to do.
//
// Seen with: an fsync of another file at the same time.

@@
@@
- err = filemap_write_and_wait(inode->i_mapping);
- if (err)
- 	goto cleanup;

@@
@@
+ filemap_write_and_wait(inode->i_mapping);
  ext4_clear_inode_state(inode, EXT4_STATE_VERITY_IN_PROGRESS);
  return 0;
