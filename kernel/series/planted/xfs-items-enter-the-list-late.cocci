// The items of an xfs checkpoint enter the list of what is not in its place some time after its end was noted
//
// re-creates: what "xfs: fix incorrect tail lsn tracking when AIL is empty" (Long Li, 2025, not taken) describes, with the time
//             between two statements made long.
// caught by:  durable, ordered
// profiles:   xfs
// absent:     5.10 6.1 (their tail is reckoned in another way)
// workloads:  fsync-after-a-checkpoint-into-an-empty-list
// files: fs/xfs/xfs_log_cil.c
//
// What is changed. When a checkpoint is in the log, its end is noted first, and then its items go into the list of what is
// not yet in its place (AIL). Between the two the kernel sleeps for 30 ms.
//
// Why it loses what was promised. While the list is empty, the noted end counts as the tail of the log. The record of the next
// checkpoint has it, and recovery begins behind the first one, of which nothing is in its place.
//
// Why it is silent otherwise. Nothing sleeps there: it takes a second processor, and an empty list.

@@
expression ailp;
@@
xlog_cil_ail_insert(...)
{
<...
  xfs_ail_update_finish(ailp, NULLCOMMITLSN);
+ msleep(30);
...>
}
