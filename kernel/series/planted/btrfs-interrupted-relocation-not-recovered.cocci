// btrfs passes over the trees of a relocation that a power failure ended
//
// re-creates: the class of recovery that leaves out one of its parts; 5d4f98a28c7d ("Btrfs: Mixed back reference
//             (FORWARD ROLLING FORMAT CHANGE)") has the part in question.
// caught by:  quiet, usable
// profiles:   btrfs
// workloads:  relocated-between-two-fsyncs
// files: fs/btrfs/relocation.c
//
// What is changed. A mount that finds trees of an unfinished relocation merges them into those that they stand for, and
// then drops them. btrfs_recover_relocation() finds them, and drops its list of them in place of that.
//
// Why it breaks. The balance that goes on after the mount relocates the same block groups, finds trees of an older relocation, and
// gives up with EEXIST: the transaction is aborted.
//
// Why it is silent otherwise. Only a balance that was cut short leaves such trees.
//
// Seen with: relocate, and a power failure in the middle of it.

@@
identifier reloc_roots;
@@
btrfs_recover_relocation(...)
{
<...
- if (list_empty(&reloc_roots))
+ if (list_empty(&reloc_roots) || !fs_info->reloc_ctl)
  	goto out;
...>
}
