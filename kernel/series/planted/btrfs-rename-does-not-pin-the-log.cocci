// btrfs lets a log be synced between the two halves of a rename
//
// re-creates: 3ca864de852b ("btrfs: fix a race between renames and directory logging") taken out: row B17 of
//             docs/reported.md.
// caught by:  durable, atomic
// profiles:   btrfs
// orders:     40
// workloads:  renamed-beside-fsyncs-of-a-neighbour
// files: fs/btrfs/inode.c
//
// What is changed. btrfs_rename() removes the old name and then adds the new one. In between it has pinned the log,
// so that no log is synced that was made then. The pin is left out.
//
// Why it loses what was durable. The fsync of another file logs the directory, if that file lost a name there in the
// same transaction. A directory that is logged between the two halves has neither name. Replay takes the log's word
// for the range of names that it holds, and removes the file.
//
// Why it is silent otherwise. Nothing sleeps between the halves, so a guest with one processor never logs the
// directory there.
//
// The window is made wider: between the halves btrfs_rename() spins. A tick that asks it to give way meanwhile is
// not heeded, so no other task of the same processor runs in between.
//
// Seen with: renames in one thread, and in another fsyncs of a file that lost its name in the same directory.

@@
expression root, dest;
@@
btrfs_rename(...)
{
<...
- btrfs_pin_log_trans(root);
- btrfs_pin_log_trans(dest);
...>
}

@@
expression root, dest;
identifier pinned;
@@
btrfs_rename(...)
{
<...
- if (pinned) {
- 	btrfs_end_log_trans(root);
- 	btrfs_end_log_trans(dest);
- }
...>
}

@@
expression trans, dir, inode, name, backref, index;
identifier ret;
@@
btrfs_rename(...)
{
<...
+ udelay(100);
+ clear_tsk_need_resched(current);
  ret = btrfs_add_link(trans, dir, inode, name, backref, index);
...>
}

@@
@@
  #include <linux/kernel.h>
+ #include <linux/delay.h>
