// f2fs does not note that a direct write over blocks on disk has to be flushed
//
// re-creates: no known bug; a mutant of f2fs_dio_write_iter() that was written without looking at the library.
// caught by:  durable
// profiles:   f2fs
// workloads:  direct-overwrite-then-fdatasync
// config:     f2fs
// absent: 5.10 (direct writes take another way there)
// files: fs/f2fs/file.c
//
// What is changed. A direct write that does not go to new blocks sets FI_UPDATE_WRITE, by which the next fsync of the file
// knows that it has to send a FLUSH although it has no node to write. Now it does not.
//
// Why it loses data. The fdatasync finds the inode clean and returns. The bytes stand in the cache of the device.
//
// Why it is silent otherwise. A write that makes the file longer, or changes the inode, has a node to write, and that is flushed.

@@
expression do_opu, inode;
@@
- if (!do_opu)
- 	set_inode_flag(inode, FI_UPDATE_WRITE);
