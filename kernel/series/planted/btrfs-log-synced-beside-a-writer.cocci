// btrfs syncs a log while another task is writing into it
//
// re-creates: the class of a lock that is not held for the whole of what it is for: a log tree that two tasks use at
//             once.
// caught by:  alive, durable, mounts, quiet
// profiles:   btrfs
// orders:     40
// workloads:  directory-of-new-files-fsynced-beside-others
// files: fs/btrfs/tree-log.c
//
// What is changed. btrfs_sync_log() waits until no task is inside the log tree, and then writes its blocks. It does
// not wait any more.
//
// Why it loses what was fsynced. The other task changes blocks of the tree while they are written, or between the
// write and the checksum. The superblock then leads to a log tree with a block that is not what its checksum says, or
// with half of an inode.
//
// Why it is silent otherwise. A task that logs an inode rarely sleeps, so with one processor it has ended when
// another one comes to sync.
//
// The window is made wider: behind the writes btrfs_sync_log() spins. A tick that asks it to give way meanwhile is
// not heeded, so no other task of the same processor runs in between.
//
// Seen with: the fsync of a directory with many new files, beside fsyncs of other files.

@@
expression root;
@@
btrfs_sync_log(...)
{
<...
- wait_for_writer(root);
...>
}

@@
expression info, pages, mark;
identifier ret;
@@
btrfs_sync_log(...)
{
<...
  ret = btrfs_write_marked_extents(info, pages, mark);
+ udelay(150);
+ clear_tsk_need_resched(current);
...>
}

@@
@@
  #include <linux/sched.h>
+ #include <linux/delay.h>
