// A file that was emptied and fsynced has its old size again
//
// re-creates: 5254d4181add ("btrfs: fix zero size inode with non-zero size after log replay"). This takes its
//             condition out again.
// caught by:  durable
// workloads:  emptied-then-linked
// profiles:   btrfs
// absent:     5.10 (that fix is not in it)
// files: fs/btrfs/tree-log.c
//
// What is changed. When a new name makes btrfs log that an inode exists, the inode item gets generation 0,
// so that replay leaves the rest of the inode alone. That must not be done to an inode that was fsynced in
// this transaction, whose item in the log is the promised one. The check for it is taken out.
//
// Why it loses the size. The item that fsync logged, with size 0, is replaced by one of generation 0.
// Replay then takes a size from it only when that is not 0: the size of the last commit stays.
//
// Why it is silent otherwise. Any other size is taken from such an item, too, and without a new name after
// the fsync the item keeps its generation. The extents were not dropped either: the file is as it was.

@@
expression logged_trans;
@@
fill_inode_item(...) {
<+...
- if (data_race(logged_trans) < trans->transid)
	gen = 0;
...+>
}
