// A jbd2 commit does not wait for its descriptor and revoke blocks
//
// re-creates: the class of 0e3d2a6313d0 ("ext4: Fix async commit mode to be safe by using a barrier") (in
//             v2.6.32): a commit record that can be on disk before the blocks it is for.
// caught by:  durable
// profiles:   ext4
// device:     slow
// workloads:  files-overwritten-and-fsynced-in-turn
// files: fs/jbd2/commit.c
//
// What is changed. A commit waits for the blocks that it copies into the journal, then for the descriptor and
// revoke blocks that say what these are, and then writes its record after a flush. The second wait is left out.
//
// Why it loses what was fsynced. The flush covers what the device has completed. A descriptor that is still on its
// way stays behind the commit record. Recovery finds no descriptor where the transaction should begin, and
// ends there.
//
// Why it is silent otherwise. A descriptor is submitted before the blocks that it describes. A device that
// completes writes in their order has it when the wait for these ends.
//
// Seen with: any fsync that commits, on a device that completes writes out of order.

@@
expression log_bufs;
identifier bh;
@@
jbd2_journal_commit_transaction(...)
{
<...
while (!list_empty(&log_bufs)) {
...
- wait_on_buffer(bh);
  cond_resched();
  ...
  clear_buffer_jwrite(bh);
  jbd2_unfile_log_bh(bh);
  ...
}
...>
}
