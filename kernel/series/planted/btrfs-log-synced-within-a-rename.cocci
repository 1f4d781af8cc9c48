// btrfs lets a log be synced between the two halves of a rename, where nothing makes the window wider
//
// re-creates: 3ca864de852b ("btrfs: fix a race between renames and directory logging") taken out: row B17 of
//             docs/reported.md.
// absent:     5.10 6.1 (User Mode Linux can tell where a task may sleep from 6.2 on)
// caught by:  durable, atomic
// profiles:   btrfs
// stops:      60
// workloads:  renamed-beside-one-fsync-of-a-neighbour
// files: fs/btrfs/inode.c
//
// What is changed. btrfs_rename() removes the old name and then adds the new one. In between it has pinned the log,
// so that no log is synced that was made then. The pin is left out, and nothing else: the same change with a wider
// window is btrfs-rename-does-not-pin-the-log.
//
// Why it loses what was durable. As there: an fsync of another file that lost a name in the directory logs the
// directory, in which the renamed file has neither name. Replay takes the log's word.
//
// Why it is silent otherwise. Nothing sleeps between the halves. A task that stops there, as a preemptible kernel
// could preempt it, lets the fsync be done meanwhile.
//
// Seen with: run --stops, in 12 of 120 recordings, where rename(2) stopped between the removal of the old name and
// the end of btrfs_add_link(); 5 of 5 repeats.

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

