// A direct write into a hole of ext4 makes written extents before its data is written
//
// re-creates: the class of fstests generic/042 and generic/536, for direct writes: what is allocated has to be
//             unwritten until its data is on disk.
// caught by:  durable, historical
// profiles:   ext4-used
// workloads:  direct-write-into-a-hole-beside-fsync
// files: fs/ext4/inode.c
//
// What is changed. A direct write below the end of file takes blocks as unwritten extents, and its completion
// converts them. They are taken as written ones, as behind the end of file. Then the writer sleeps for 5 ms, as one does that
// loses its processor there. Without the sleep only the slow device shows it, in some recordings.
//
// Why it exposes data. Another task's fsync commits the extents while the data is on its way. Data of direct writes
// is on no list of ordered data. After a power failure the file shows what the blocks held before.
//
// Why it is silent otherwise. A device that completes writes in their order has the data before the commit's
// blocks.
//
// Seen with: a direct write into a hole of a file, beside an fsync of another file.

@@
identifier inode, m_flags;
@@
ext4_iomap_alloc(struct inode *inode, ...)
{
<...
(
- m_flags = EXT4_GET_BLOCKS_IO_CREATE_EXT;
+ m_flags = EXT4_GET_BLOCKS_CREATE;
|
- m_flags = EXT4_GET_BLOCKS_CREATE_UNWRIT_EXT;
+ m_flags = EXT4_GET_BLOCKS_CREATE;
)
...>
}

@@
identifier handle;
@@
ext4_iomap_alloc(...)
{
<...
  ext4_journal_stop(handle);
+ schedule_timeout_uninterruptible(msecs_to_jiffies(5));
...>
}
