// Replay leaves out a block whose copy in the journal cannot be read, and the mount goes on
//
// re-creates: the class of "btrfs: fix missing error handling when searching for inode refs during log replay", by Filipe
//             Manana (v6.16): an I/O error during replay is lost on its way to the mount.
// caught by:  healed, noticed
// profiles:   ext4
// workloads:  new-directory rename-over-existing append-fsync-repeated
// damage:     failing
// files: fs/jbd2/recovery.c
//
// What is changed. do_one_pass() goes on behind a block of the journal that it cannot read, prints a line, and keeps the
// error for its end, where it makes the mount fail. Now the line is all that is left of the error.
//
// Why it loses data. The mount succeeds, and the journal is emptied. What stood in that block was on disk nowhere else:
// when the device can be read again, a directory's names or an inode are as they were before the commit.
//
// Why it is silent otherwise. No power failure makes a block of the journal unreadable, and a damaged one has a checksum
// of its own.

@@
identifier result, err, block;
@@
- result = err;
(
  printk(..., err, block);
|
  pr_err(..., err, block);
)
