// ext4 does not order the zeros behind a truncate with the truncate
//
// re-creates: the class of 06bd3c36a733 ("ext4: fix data exposure after a crash") (in v4.7): an inode that
//             is missing from the list of those whose data a commit has to write first, in data=ordered.
// caught by:  historical
// profiles: ext4
// workloads: truncated-tail-then-grown
// files: fs/ext4/inode.c
//
// What is changed. When a truncate ends inside a block, the rest of the block is zeroed in memory and the
// range given to the transaction as data to be written before it commits. The second half is taken out.
//
// Why it exposes data. The commit puts the new size on disk and not the zeros. That is harmless while the
// file ends there; when a second truncate makes it longer again, in the same or a later transaction, the
// bytes that were cut off are inside the file once more.
//
// Why it is silent otherwise. In memory the page is right and dirty; writeback puts it right within half a
// minute, an fsync of the file at once. Size, blocks and counts agree, so fsck has nothing to say.
//
// Seen with: truncate to 1500, truncate to 4K, and a commit for the sake of something else.

@@
identifier err, handle, inode, from, length;
@@
- if (ext4_should_order_data(inode))
- 	err = ext4_jbd2_inode_add_write(handle, inode, from, length);

@@
identifier err, handle, inode, from, length;
@@
  handle = ext4_journal_start(...);
  ...
- err = ext4_jbd2_inode_add_write(handle, inode, from, length);
+ err = 0;
  ext4_journal_stop(handle);
