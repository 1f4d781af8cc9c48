// jbd2's recovery goes on one block too late at the begin of the journal
//
// re-creates: no single fix: a log that is read across its end, which fstests reaches in generic/388 and generic/475 by
//             chance.
// caught by:  mounts, quiet
// profiles:   ext4-short-journal
// workloads:  files-overwritten-and-fsynced-in-turn append-fsync-repeated very-many-new-names
// files: fs/jbd2/recovery.c
//
// What is changed. The block after the last one of the journal is taken for a part of it.
//
// Why it loses data. Of a transaction that begins before the end and ends behind it all blocks are found one place off.
//
// Why it is silent otherwise. Only a crash replays, and a journal that is emptied now and then passes its end seldom.

@@
expression journal, block;
@@
do_one_pass(...)
{
<...
- wrap(journal, block);
+ if (block > journal->j_last)
+ 	wrap(journal, block);
...>
}
