// jbd2 commits a transaction while handles of it are open
//
// re-creates: the place of cc16eecae687 ("jbd2: fix use-after-free of transaction_t race"): the wait for the handles
//             of a transaction.
// caught by:  alive, consistent, fsck, quiet
// profiles:   ext4
// orders:     40
// workloads:  made-and-removed-beside-fsyncs
// files: fs/jbd2/commit.c fs/jbd2/transaction.c
//
// What is changed. jbd2_journal_commit_transaction() locks the transaction and waits until all its handles have
// ended. It does not wait any more.
//
// Why it loses consistency. A handle that was open has changed one block and not yet the other. The journal gets a
// half of an operation: a name without its inode, an inode without its bit.
//
// Why it is silent otherwise. A handle is open within one system call, and rarely sleeps. With one processor none is
// open when the commit begins.
//
// The window is made wider: for each block that a handle takes jbd2_journal_get_write_access() spins. A tick that
// asks it to give way meanwhile is not heeded, so no other task of the same processor runs in between.
//
// Seen with: names made and removed in one thread, and fsyncs in another.

@@
expression journal;
@@
jbd2_journal_commit_transaction(...)
{
<...
- jbd2_journal_wait_updates(journal);
...>
}

@@
expression handle;
identifier jh, journal, rc;
@@
jbd2_journal_get_write_access(...)
{
  struct journal_head *jh;
  journal_t *journal;
  int rc;

+ udelay(10);
+ clear_tsk_need_resched(current);
  if (is_handle_aborted(handle))
  	return -EROFS;
  ...
}

@@
@@
  #include <linux/jbd2.h>
+ #include <linux/delay.h>
