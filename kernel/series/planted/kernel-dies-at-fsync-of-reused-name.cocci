// The kernel dies at an fsync of a file that has taken the name of another one
//
// re-creates: the class of ebb70442cdd4 ("Btrfs: fix list_add corruption and soft lockups in fsync") and
//             cbd60aa7cd17 ("Btrfs: remove root_log_ctx from ctx list before btrfs_sync_log returns"): lists
//             of the log tree's fsync that are taken apart wrongly, seen as a crash of the running kernel.
// caught by:  alive
// profiles: btrfs
// workloads: rename-then-reuse-name
// files: fs/btrfs/tree-log.c
//
// What is changed. An fsync of a file that has a name which another inode had before logs that other inode,
// too; those inodes wait in a list. Each is taken out of the list twice.
//
// Why it is harmful. list_del() leaves LIST_POISON1 and LIST_POISON2 in the element, and the second list_del()
// writes through them: the kernel dies within fsync(2). No power failure has to come for that: it happens
// while the workload is recorded.
//
// Why it is silent otherwise. Only an fsync that meets such an inode does it. Mount, recovery, checker and
// every other fsync are as before, and nothing on the disk is wrong.

@@
expression E;
@@
 log_conflicting_inodes(...)
 {
 <...
   list_del(E);
+  list_del(E);
 ...>
 }
