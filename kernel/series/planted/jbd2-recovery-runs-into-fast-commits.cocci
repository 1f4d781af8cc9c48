// Recovery does not turn round at the end of the journal, but reads on in the area of fast commits
//
// re-creates: the class of 2dfba3bb40ad ("jbd2: correct the end of the journal recovery scan range") (in v6.6)
// caught by:  atomic consistent durable
// profiles: ext4-fast-commit-short-journal
// workloads: renames-after-fsync
// files: fs/jbd2/recovery.c
//
// What is changed. Recovery turns round at the end of the area for fast commits in place of that of the journal.
//
// Why it loses data. What was committed behind the turn is not replayed.
//
// Why it is silent otherwise. A journal turns round after many commits, and without fast commits both ends are
// one.

@@
expression journal, var;
@@
- wrap(journal, var);
+ if (var >= journal->j_fc_last)
+ 	var -= journal->j_fc_last - journal->j_first;
