// jbd2 does not widen the range of an inode's ordered data downwards
//
// re-creates: the class of 06bd3c36a733 ("ext4: fix data exposure after a crash") (in v4.7): data that a commit of
//             data=ordered has to write first and does not know of. The range is that of 6ba0e7dc64a5 ("jbd2: introduce
//             jbd2_inode dirty range scoping") (in v5.3).
// caught by:  historical
// profiles:   ext4
// workloads:  tails-at-several-places-of-one-file
// files: fs/jbd2/transaction.c
//
// What is changed. An inode that is on the list of those whose data a commit writes keeps the begin of its range when
// more data is added in front of it.
//
// Why it exposes data. The zeros behind a second, shorter end are not written by the commit that has this end. The file
// grows again, and the bytes that were cut off are inside it.
//
// Why it is silent otherwise. In memory the page is right and dirty; writeback puts it right within half a minute. One
// cut in a transaction is in the range.
//
// Seen with: truncate to 50001, to 33001, to 5001, to 64K, and a commit for the sake of another file.

@@
identifier jinode, start_byte;
@@
- jinode->i_dirty_start = min(jinode->i_dirty_start, start_byte);
