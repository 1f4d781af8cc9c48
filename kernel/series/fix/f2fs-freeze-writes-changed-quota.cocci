// What users and groups have is in the checkpoint that a freeze writes
//
// profiles:   f2fs-quota
// config:     f2fs, quota
// workloads:  freeze-makes-all-durable
// absent:     5.10, 6.1 (whether the bug shows there was not tried)
// files: fs/f2fs/checkpoint.c
//
// A fix of our own for what FINDINGS.md tells ("A freeze leaves changed quota out of its checkpoint"). The maintainers have one of
// theirs.
//
// What is changed. block_operations() writes quota under s_umount, and takes that lock unless its own task has it. The sync of a freeze has it and
// does not say so, so the lock cannot be taken and quota is passed over. Now a filesystem that is being frozen, and whose calls wait,
// counts as one whose lock is held.
//
// How it was checked. With it no state of the three workloads that show the bug has other quota than its tree, on 6.12 and 7.2. The
// rest of the library was not run with it.

@@
expression sbi;
identifier need_lock;
@@
block_operations(...)
{
<...
- bool need_lock = sbi->umount_lock_holder != current;
+ bool need_lock = sbi->umount_lock_holder != current && sbi->sb->s_writers.frozen < SB_FREEZE_PAGEFAULT;
...>
}
