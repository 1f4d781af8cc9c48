// sync on ext4 does not wait for a commit that is under way
//
// re-creates: the class of planted/jbd2-commit-of-another-not-waited-for, for sync: which commit a call has to wait for,
//             decided wrongly.
// caught by:  durable
// profiles:   ext4
// workloads:  fsync-overtakes-syncfs
// files: fs/jbd2/journal.c
//
// What is changed. jbd2_journal_start_commit() reports the running transaction, and no longer the one that is being
// committed where none is running.
//
// Why it loses what was synced. syncfs(2) finds nothing to wait for and returns, while the commit of another task has not
// written its record.
//
// Why it is silent otherwise. One task alone has its changes in the running transaction.

@@
expression journal, ptid;
@@
jbd2_journal_start_commit(...)
{
<...
  if (journal->j_running_transaction) { ... }
- else if (journal->j_committing_transaction) { ... }
...>
}
