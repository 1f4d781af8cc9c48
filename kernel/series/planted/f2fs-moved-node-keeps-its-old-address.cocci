// Garbage collection of f2fs moves a node, and the table of addresses has the old place
//
// re-creates: the class of a move of which one of two owners is not told; fs/f2fs/node.c __write_node_page() tells the
//             table of node addresses (NAT), and f2fs_do_write_node_page() that of segments (SIT).
// caught by:  durable, quiet
// profiles:   f2fs
// config:     f2fs
// workloads:  inodes-of-half-empty-segments
// files: fs/f2fs/node.c
//
// What is changed. A node that is written gets its new address in the NAT. One that garbage collection writes no longer does.
//
// Why it loses what was durable. The old block counts as free and is given away, and with it the inode.
//
// Why it is silent otherwise. Only nodes in segments that are partly free, and not written to at present, are moved.
//
// Seen with: hundreds of inodes, of which half are removed, relocate, fsync.

@@
expression sbi, ni, fio, fsynced;
identifier io_type;
@@
__write_node_page(..., enum iostat_type io_type, ...)
{
<...
- set_node_addr(sbi, &ni, fio, fsynced);
+ if (io_type != FS_GC_NODE_IO)
+ 	set_node_addr(sbi, &ni, fio, fsynced);
...>
}
