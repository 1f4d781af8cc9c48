// A direct write of ext4 that ends below the size in memory leaves the size on disk as it is
//
// re-creates: 45d8ec4d9fd5 ("ext4: update i_disksize if direct write past ondisk size"). This takes its condition out
//             again, where it stands today.
// caught by:  durable
// profiles:   ext4
// workloads:  direct-write-below-a-size-not-on-disk
// files: fs/ext4/file.c
//
// What is changed. When a direct write is done, its end is compared with the size of the file in memory and with the
// one that the inode has on disk, and where it lies behind one of them the inode is changed. It is compared
// with the size in memory alone.
//
// Why it loses data. A buffered write behind it has made the file longer in memory, and its data is not allocated:
// the size on disk follows when it is. The direct write with O_DSYNC commits an inode whose size ends in front of its
// data. After a power failure the file is as short as before.
//
// Why it is silent otherwise. The buffered data is written out within half a minute, and takes the size with it.
//
// Seen with: a new file, a buffered write at 16 KiB, a direct write with O_DSYNC at 4 KiB.

@@
expression end;
identifier inode;
@@
ext4_dio_write_end_io(...)
{
<...
- end <= READ_ONCE(EXT4_I(inode)->i_disksize) &&
  end <= i_size_read(inode)
...>
}
