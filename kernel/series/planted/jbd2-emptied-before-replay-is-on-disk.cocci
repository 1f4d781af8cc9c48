// jbd2 marks the journal as replayed before what it replayed is on the disk
//
// re-creates: the class of 353b67d8ced4 ("jbd: Issue cache flush after checkpointing"), of which jbd2 has the like:
//             the journal lets go of blocks whose place on the disk may not have them.
// caught by:  durable, fsck, mounts, quiet
// profiles:   ext4
// workloads:  fsync-new-file
// models:   N A
// files: fs/jbd2/recovery.c
//
// What is changed. jbd2_journal_recover() no longer writes back the blocks that it replayed. They stay in the
// page cache until the unmount, and the journal's superblock says at once that the journal is empty.
//
// Why it loses data. When the power fails again between the two, nobody replays the journal any more, and
// what it held is nowhere else: all that was fsynced since the last checkpoint is gone.
//
// Why it is silent otherwise. One recovery that goes through to its end brings everything back. Only a
// second power failure shows it, during the recovery from the first or shortly after.

@@
@@
jbd2_journal_recover(...) {
<+...
- err2 = sync_blockdev(journal->j_fs_dev);
+ err2 = 0;
...+>
}
