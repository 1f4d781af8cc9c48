// f2fs' recovery leaves the bytes of a small file where the addresses of its blocks come
//
// re-creates: no single fix: what f2fs_recover_inline_data() is for (fs/f2fs/inline.c: "remove inline_data, and then
//             recover data blocks").
// caught by:  durable, fsck, quiet, mounts
// profiles:   f2fs
// config:     f2fs
// workloads:  small-files-on-disk-outgrow-their-inodes
// files: fs/f2fs/inline.c
// absent: 5.10 (there the code is of another form)
//
// What is changed. The checkpoint has a file's data in its inode, and an fsync wrote it with blocks. Recovery is to clear what
// stands in the inode before it enters the blocks. It no longer does.
//
// Why it loses the file. The bytes of the data are taken for addresses of blocks. Recovery finds them wrong and gives up.
//
// Why it is silent otherwise. The kernel that runs clears the inode when the data move. A file that outgrew its inode before the
// checkpoint has nothing to clear.

@@
@@
f2fs_recover_inline_data(...)
{
<...
- f2fs_truncate_inline_inode(...);
stat_dec_inline_inode(inode);
...>
}
