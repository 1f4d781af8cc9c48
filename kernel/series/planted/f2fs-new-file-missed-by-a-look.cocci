// f2fs mounts a read-only device although a new file would have to be recovered
//
// re-creates: "f2fs: fix to detect recoverable inode during dryrun of find_fsync_dnodes()", by Chao Yu (v6.19). This takes
//             it out again.
// caught by:  mounts
// profiles:   f2fs-ro-first
// workloads:  new-file-fsynced-after-a-sync
// config:     f2fs
// absent: 5.10 6.1 (a read-only device is refused there whenever it was not unmounted, or not looked at)
// files: fs/f2fs/recovery.c
//
// What is changed. A mount of a read-only device looks through the nodes of fsyncs without recovering any, and is refused
// when there is one. An inode that the checkpoint does not have is noted on the way, since it cannot be opened; now
// it is not.
//
// Why it does harm. The mount succeeds, and the file that was fsynced last is not there. Who copies the disk from
// there, or asks whether it has to be recovered, is told that all is well.
//
// Why it is silent otherwise. A device that can be written recovers the file.

@@
expression check_only, new_inode;
@@
- if (check_only)
- 	*new_inode = true;
