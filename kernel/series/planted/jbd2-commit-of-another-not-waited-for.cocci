// An fsync on ext4 does not wait for a commit that another task has asked for
//
// re-creates: the class of d76a3a77113d ("ext4/jbd2: don't wait (forever) for stale tid caused by wraparound")
//             (in v3.10) the other way round: which commits an fsync has to wait for, decided wrongly.
// caught by:  durable
// workloads:  attributes-fsynced-during-a-commit
// profiles:   ext4
// files: fs/jbd2/journal.c
//
// What is changed. jbd2_complete_transaction() asks for a commit when none was asked for, and then waits for it.
// Where it finds the commit asked for already, or under way, it returns without waiting.
//
// Why it loses what was fsynced. The commit of the other task writes the journal's blocks and then, after a
// flush, the record that makes them count. A second fsync that returns in between promises what a power
// failure takes back, with the whole transaction.
//
// Why it is silent otherwise. One task alone always asks for the commit itself, and waits. The transaction is
// whole and in order, so recovery and e2fsck see a consistent tree of a moment ago.

@@
identifier wait;
@@
jbd2_complete_transaction(...)
{
...
- if (!wait) return 0;
+ return 0;
...
}
