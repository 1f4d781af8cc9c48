// A jbd2 commit starts the writes of ordered data and does not wait for them
//
// re-creates: the class of 06bd3c36a733 ("ext4: fix data exposure after a crash") (in v4.7): data that a commit of
//             data=ordered has to have on disk before its record.
// caught by:  historical
// profiles:   ext4
// device:     slow
// workloads:  truncated-tails-then-grown-in-turn
// files: fs/jbd2/commit.c
//
// What is changed. A commit submits the data of the inodes on its list, writes the journal's blocks, waits for
// the data, and writes its record after a flush. The wait for the data is left out.
//
// Why it exposes data. The flush covers what the device has completed. Zeros behind a truncated end that are still
// on their way stay behind the commit record; a power failure then leaves the bytes that were cut off, inside
// a file that grew again.
//
// Why it is silent otherwise. The data is submitted before the journal's blocks, which the commit waits for. A
// device that completes writes in their order has the data by then.
//
// Seen with: truncate to 1500, truncate to 4K, and a commit, on a device that completes writes out of order.

@@
identifier err;
expression journal, jinode;
@@
journal_finish_inode_data_buffers(...)
{
<...
- err = journal->j_finish_inode_data_buffers(jinode);
+ err = 0;
...>
}
