// f2fs' recovery leaves data where blocks were zeroed
//
// re-creates: the class of 281518c694a5 ("f2fs: fix fdatasync") (in v4.10); fstests generic/009.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// workloads:  zero-range-inside
// files: fs/f2fs/recovery.c
//
// What is changed. Where the node that fsync wrote has a reserved block, recovery takes off what is there and
// reserves one. It now does so only where nothing is there.
//
// Why it loses what was promised. zero-range makes reserved blocks of blocks with data. The data is back.
//
// Why it is silent otherwise. Reservations are mostly made where nothing is.
//
// Seen with: zero-range over blocks that a checkpoint has, fsync.

@@
expression dn, dest;
symbol src;
@@
  if (dest == NEW_ADDR) {
+ 	if (src != NULL_ADDR)
+ 		continue;
  	f2fs_truncate_data_blocks_range(&dn, 1);
  	...
  }
