// A directory stays busy for ever after an fsync of a file that was linked and lost a name
//
// re-creates: no single fix: references of an inode that fsync does not give back. A reference that is lost shows
//             at the unmount, which fstests sees in the kernel's log (common/rc _check_dmesg).
// caught by:  quiet
// profiles: btrfs
// workloads: link-and-unlink-in-one-transaction
// files: fs/btrfs/tree-log.c
//
// What is changed. An fsync of a file that lost a name in this transaction logs every directory that has one of
// its names. The reference of the directory that is taken for that is not given back.
//
// Why it is harmful. At the unmount the inode is still in use: its memory is never freed, and what uses it later
// works on a filesystem that is gone. The kernel says "VFS: Busy inodes after unmount", newer ones with a
// WARNING. It happens while the workload is recorded: no power failure has to come for that.
//
// Why it is silent otherwise. Every call gives what it gave before, the unmount succeeds, the log tree and the
// disk are right, and recovery never runs this code.

@@
expression E;
@@
 btrfs_log_all_parents(...)
 {
 <...
-  btrfs_add_delayed_iput(E);
 ...>
 }
