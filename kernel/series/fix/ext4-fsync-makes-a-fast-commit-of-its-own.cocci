// ext4's fsync makes a fast commit of its own after one that was under way
//
// profiles:   ext4-fast-commit
// workloads:  written-while-a-commit-is-under-way two-descriptors-write-and-fsync
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-10 (docs/findings/EXT4-10.md).
//
// What is changed. An fsync that had waited for the fast commit of another one returned. That one can have taken its
// inodes before the write in question. Now fsync begins again; it returns only if a full commit has taken the
// transaction in the meantime.
//
// How it was checked. With it two-descriptors-write-and-fsync lost nothing in three recordings on 6.12, and in one of
// three without it.

@@
expression sbi, journal, commit_tid;
symbol subtid;
@@
- if (atomic_read(&sbi->s_fc_subtid) <= subtid && tid_gt(commit_tid, journal->j_commit_sequence))
+ if (tid_gt(commit_tid, journal->j_commit_sequence))
  	goto restart_fc;

@@
expression sbi;
symbol subtid;
@@
- int subtid = atomic_read(&sbi->s_fc_subtid);
