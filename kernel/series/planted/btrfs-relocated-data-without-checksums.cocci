// btrfs moves data, and not its checksums
//
// re-creates: the class of 17d217fe970d ("Btrfs: fix nodatasum handling in balancing code") (in v2.6.29): relocation and
//             checksums that do not agree.
// caught by:  durable, consistent, usable, fsck, quiet
// profiles:   btrfs
// workloads:  relocated-between-two-fsyncs, relocated-blocks-used-again
// files: fs/btrfs/relocation.c
//
// What is changed. Relocation looks up the checksums of the data that it moves, and adds them for the new place. They are not
// added.
//
// Why it loses what was durable. Data without a checksum, in a file that has checksums, cannot be read.
//
// Why it is silent otherwise. The files' pages are in memory. Only data that is moved is concerned.
//
// Seen with: sync, relocate, sync.

@@
expression ordered, sums;
@@
btrfs_reloc_clone_csums(...)
{
<...
- btrfs_add_ordered_sum(ordered, sums);
+ kvfree(sums);
...>
}
