// fsync does not wait for a commit whose number is behind the end of the numbers
//
// re-creates: the class of d9b01934d56a ("jbd: fix fsync() tid wraparound bug") (in v2.6.39): numbers of transactions
//             that are compared as if they never went on at 0
// caught by:  durable
// profiles: ext4-log-end
// workloads: append-fsync-repeated
// files: fs/jbd2/journal.c
//
// What is changed. jbd2_log_wait_commit() compares the two numbers by their size, and not by their distance.
//
// Why it loses data. Transaction 0 comes behind 4294967295. An fsync that waits for it finds that a larger number has been
// committed, and returns before anything of it is on disk.
//
// Why it is silent otherwise. At a transaction a second the numbers last for 136 years; an image or a benchmark
// makes them faster.

@@
statement S;
@@
- while (tid_gt(tid, journal->j_commit_sequence)) S
+ while (tid > journal->j_commit_sequence) S
