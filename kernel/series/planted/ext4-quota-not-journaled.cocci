// ext4 changes what users and groups have in memory, and writes it at the next sync
//
// re-creates: no single fix: what ext4_mark_dquot_dirty() is for (fs/ext4/super.c), since 7c319d328505 ("ext4: make quota as
//             first class supported feature") (in v3.6) for quota that is kept in hidden files.
// caught by:  fsck
// profiles:   ext4-quota
// config:     quota
// workloads:  truncate-then-fsync
// files: fs/ext4/super.c
//
// What is changed. Quota that is journaled is written to its file in the transaction that changes it. It is only marked as
// changed now, as quota that is not journaled.
//
// Why it breaks. A commit has the blocks of a file and not that they count for its owner. After recovery the counts are those
// of some earlier time. e2fsck counts the files and finds it.
//
// Why it is silent otherwise. An unmount writes all counts.

@@
expression dquot;
@@
ext4_mark_dquot_dirty(...)
{
<...
- dquot_mark_dquot_dirty(dquot);
- return ext4_write_dquot(dquot);
+ return dquot_mark_dquot_dirty(dquot);
...>
}
