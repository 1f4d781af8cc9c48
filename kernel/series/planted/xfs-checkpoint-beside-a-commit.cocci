// xfs makes a checkpoint of the log while a transaction is being added to it
//
// re-creates: the class of 39823d0fac94 ("xfs: CIL work is serialised, not pipelined"), where pushes and commits
//             meet.
// caught by:  alive, consistent, fsck, mounts, quiet
// profiles:   xfs
// orders:     40
// workloads:  made-and-removed-beside-fsyncs
// files: fs/xfs/xfs_log_cil.c
//
// What is changed. xlog_cil_push_work() holds the lock of the context, so that no transaction is added while it takes
// the list of what was changed. It does not take the lock any more.
//
// Why it loses atomicity. A transaction that is added meanwhile has a part of its items in this checkpoint and the
// others in the next one. A power failure between the two leaves half of it.
//
// Why it is silent otherwise. Adding a transaction does not sleep, so with one processor the two never meet.
//
// The window is made wider: for each item xlog_cil_insert_items() spins. A tick that asks it to give way meanwhile
// is not heeded, so no other task of the same processor runs in between.
//
// Seen with: names made and removed in one thread, and fsyncs in another.

@@
expression cil;
@@
xlog_cil_push_work(...)
{
<...
- down_write(&cil->xc_ctx_lock);
...>
}

@@
expression cil;
@@
xlog_cil_push_work(...)
{
<...
- up_write(&cil->xc_ctx_lock);
...>
}

@@
expression item, items;
@@
xlog_cil_insert_items(...)
{
<...
  list_add_tail(item, items);
+ udelay(40);
+ clear_tsk_need_resched(current);
...>
}

@@
@@
  #include "xfs_platform.h"
+ #include <linux/delay.h>
