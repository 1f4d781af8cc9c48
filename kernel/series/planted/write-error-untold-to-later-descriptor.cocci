// A write error that nobody has heard of is not told to descriptors that are opened later
//
// re-creates: b4678df184b3 ("errseq: Always report a writeback error once") (in v4.17), fstests generic/487 and
//             btrfs/160. This takes it out again.
// caught by:  told
// profiles:   ext4, xfs
// faults:     sweep
// workloads:  write-error-told-to-later-descriptor
// files: lib/errseq.c
//
// What is changed. A descriptor remembers which errors of its file had happened when it was opened, and is told of later
// ones. An error that no descriptor was told of counts as a later one. It no longer does.
//
// Why it loses data. sync cannot report an error. The fsync of a descriptor that is opened after it succeeds, and the data is
// not on disk.
//
// Why it is silent otherwise. Descriptors that were open before the error are told of it.

@@
identifier old;
@@
errseq_sample(...)
{
<+...
- if (!(old & ERRSEQ_SEEN))
-	old = 0;
...+>
}
