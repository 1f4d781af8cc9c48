// freeze_super() leaves out the sync
//
// re-creates: the class of a freeze after which a snapshot of the device lacks what was written; cf. fstests
//             generic/311.
// caught by:  durable
// profiles: ext4 xfs btrfs
// workloads: freeze-makes-all-durable
// files: fs/super.c
//
// What is changed. A freeze holds back writers, and then writes out what is dirty. The second is gone; what each
// filesystem does by itself, as to empty its journal, is still done.
//
// Why it loses data. Whoever takes a snapshot of a frozen device gets files without the bytes that were in the page
// cache.
//
// Why it is silent otherwise. The thawed filesystem writes them later, and nobody looks at the disk meanwhile.
//
// Seen with: a file written, freeze, and a power failure before the next sync.

@@
expression sb;
identifier ret;
@@
  sb->s_writers.frozen = SB_FREEZE_PAGEFAULT;
  ...
- ret = sync_filesystem(sb);
+ ret = 0;
