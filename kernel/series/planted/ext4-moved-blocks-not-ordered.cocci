// The journal commits that a file's blocks have moved before its data is in the new ones
//
// re-creates: the class of "ext4: clean up online defrag bugs in move_extent_per_page()" (Dmitry Monakhov, 2012), which makes it
//             what write_begin and write_end would do.
// caught by:  durable
// profiles:   ext4
// workloads:  defragment-then-fsync-other-file
// files: fs/ext4/move_extent.c
//
// What is changed. EXT4_IOC_MOVE_EXT gives a file the blocks of another and makes the file's pages dirty, so that its data will
// be written there. It also hands the range to the transaction (ext4_jbd2_inode_add_write()), so that the commit writes the data
// first. The planted bug leaves this call out.
//
// Why it loses data. An fsync of another file commits the transaction. The map on disk then leads to the new blocks, while the
// data is in memory alone.
//
// Why it is silent otherwise. The pages are dirty, and writeback writes them some seconds later.
//
// Seen with: a file that was synced is moved, then an fsync of another file.

@@
expression handle, inode, start, length;
@@
- ext4_jbd2_inode_add_write(handle, inode, start, length)
+ 0
