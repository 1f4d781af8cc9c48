// ext4 does not journal the entry of the orphan file
//
// re-creates: the class that fstests generic/530 asks about: files whose last name was gone when the power failed have to
//             be found again by recovery, and freed. The file is that of 02f310fcf47f ("ext4: Speedup ext4 orphan inode
//             handling") (in v5.15).
// caught by:  fsck
// profiles:   ext4-orphan-file
// workloads:  orphan-in-the-middle-closed unlinked-open-files-of-one-list
// absent:     5.10 (the orphan file is in v5.15)
// files: fs/ext4/orphan.c
//
// What is changed. An inode that loses its last name is entered in a block of the orphan file, and the block is not
// given to the transaction.
//
// Why it loses space. Recovery finds no entry: nobody frees the inode and its blocks.
//
// Why it is silent otherwise. In memory the entry is there, and it is taken out when the file is closed.

@@
expression handle, bh;
@@
ext4_orphan_file_add(...)
{
<...
- return ext4_handle_dirty_metadata(handle, NULL, bh);
+ return 0;
...>
}
