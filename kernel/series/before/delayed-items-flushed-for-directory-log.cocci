// The logging of a directory begins with flushing its delayed items into the subvolume tree
//
// upstream: 30b80f3ce0f9 ("btrfs: use delayed items when logging a directory") (in v6.1)
// absent: 5.10 (it flushes them still)
// files: fs/btrfs/tree-log.c
//
// What is taken out. btrfs_log_inode() flushes the delayed items of a directory only where it would recurse;
// else it copies them from memory into the log. It flushes those of every directory that it logs, also of
// one of which it only logs that it exists, as it did before. The copying stays: it meets what another task
// adds between the flush and the directory's log_mutex, mostly nothing.
//
// Why it is sound. Delayed items may be flushed at any time by a worker, so what follows must find them in
// the subvolume tree in any case; and the flush is done here already, at this place and under the same
// locks, for the directories of a nested logging.
//
// How it was checked. Counted calls of a gcov kernel: btrfs_commit_inode_delayed_items() once for each fsync
// of a directory, and never without the change (harness/suite/test_before.py). The library of workloads
// finds nothing that it does not find on the kernel without the change.

@@
identifier trans, inode, ctx, ret;
symbol full_dir_logging;
statement S;
@@
- if (full_dir_logging && ctx->logging_new_delayed_dentries)
+ if (S_ISDIR(inode->vfs_inode.i_mode))
 {
 	ret = btrfs_commit_inode_delayed_items(trans, inode);
 	if (ret) S
 }
