// f2fs' recovery takes blocks reserved behind the end for the end
//
// re-creates: the sequence B3-9 of CrashMonkey: zero-range with keep-size behind the end, and a wrong size after
//             recovery.
// caught by:  historical durable
// profiles:   f2fs
// config:     f2fs
// workloads:  keep-size-past-end reserved-across-end-and-behind
// files: fs/f2fs/recovery.c
//
// What is changed. Recovery makes a file as long as its last block, unless the inode says that its size was kept.
// It no longer asks.
//
// Why it loses what was promised. Space that was reserved behind the end becomes part of the file.
//
// Why it is silent otherwise. Few programs reserve space behind the end.
//
// Seen with: fallocate with KEEP_SIZE behind the end, fsync.

@@
expression inode, e;
@@
- !file_keep_isize(inode) && (e)
+ (e)
