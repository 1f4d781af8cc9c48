// A scrub does not write what it mends
//
// re-creates: the class of https://github.com/kdave/btrfs-progs/issues/972 ("Btrfs states it repaired errors but it
//             didn't repair anything", 2025)
// caught by:  redundant
// models:   M
// profiles: btrfs-raid1 btrfs-raid10
// workloads: new-files-then-fsync-other overwritten-between-syncs
// files: fs/btrfs/scrub.c
//
// What is changed. scrub_stripe_read_repair_worker() reads the right copy of what is wrong, counts it as
// corrected, and does not write it.
//
// Why it loses data. A device that was away for a while keeps its old blocks, though the scrub had nothing that it
// could not mend. Should the other device be lost then, they are all that there is.
//
// Why it is silent otherwise. Each read that meets a wrong copy takes the other one. On one device there is
// no right copy of what is wrong.

@@
expression sctx, stripe, repaired;
@@
- scrub_write_sectors(sctx, stripe, repaired, false);
+ (void)repaired;
