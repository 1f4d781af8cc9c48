// ext4 makes no fast commit of data that moves out of the inode
//
// profiles:   ext4-fast-commit-inline
// workloads:  append-few-bytes-fdatasync small-files-on-disk-outgrow-their-inodes
// files: fs/ext4/inline.c
//
// A fix of our own for EXT4-22 (docs/findings/EXT4-22.md).
//
// What is changed. A fast commit has the blocks of a file before its inode, and replay enters them into an inode that still has
// its data inside. Where data move out of an inode, no fast commit is made until the next full commit.
//
// How it was checked. With it the workloads above keep the promises that EXT4-22 breaks, on 6.12.

@@
symbol handle, inode;
@@
ext4_destroy_inline_data_nolock(...)
{
<...
  ext4_clear_inode_flag(inode, EXT4_INODE_INLINE_DATA);
+ ext4_fc_mark_ineligible(inode->i_sb, EXT4_FC_REASON_XATTR, handle);
...>
}
