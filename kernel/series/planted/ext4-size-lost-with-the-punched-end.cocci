// ext4 does not count what was written and then punched out into the size on disk
//
// re-creates: the class of 9d80eaa1a1d3 ("ext4: increase i_disksize to offset + len in ext4_update_disksize_before_punch()")
//             (in v6.18): the pages whose writeback would have grown the size on disk are thrown away.
// caught by:  durable
// profiles:   ext4
// workloads:  end-of-new-data-punched-or-zeroed
// files: fs/ext4/inode.c
//
// What is changed. ext4_punch_hole() first sets the size on disk to what the hole covers of the size in memory. It no longer
// does.
//
// Why it loses the size. Data is written to the cache, and the size on disk follows when it is written out. Where its end was
// punched out, nothing is written there. An fsync has the size up to the hole.
//
// Why it is silent otherwise. The size in memory is right. A later write behind the hole, or a truncate, sets that on disk.

@@
expression inode, offset, length, ret;
statement S;
@@
ext4_punch_hole(...)
{
<...
- ret = ext4_update_disksize_before_punch(inode, offset, length);
- if (ret) S
...>
}
