// Garbage collection of f2fs moves data, and the file has the old place
//
// re-creates: the class of a move of which one of two owners is not told; fs/f2fs/segment.c f2fs_outplace_write_data() tells the
//             file, and do_write_page() the table of segments (SIT).
// caught by:  durable, historical, ordered, consistent, usable, fsck, quiet
// profiles:   f2fs
// config:     f2fs
// workloads:  garbage-collected-then-synced, garbage-collected-between-fsyncs, garbage-collected-without-a-checkpoint
// files: fs/f2fs/segment.c
//
// What is changed. Data that is written to a new place has its address in a node of its file. Where garbage collection writes it,
// the node keeps the old address.
//
// Why it loses what was durable. The old block counts as free and is given away.
//
// Why it is silent otherwise. Only data in segments that are partly free, and not written to at present, is moved.
//
// Seen with: files of megabytes with holes, relocate, sync.

@@
expression dn;
identifier fio;
@@
f2fs_outplace_write_data(..., struct f2fs_io_info *fio)
{
<...
- f2fs_update_data_blkaddr(dn, fio->new_blkaddr);
+ if (fio->io_type != FS_GC_DATA_IO)
+ 	f2fs_update_data_blkaddr(dn, fio->new_blkaddr);
...>
}
