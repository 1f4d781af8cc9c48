// f2fs waits for the first node that is written by fsync after a mount or checkpoint
//
// files: fs/f2fs/node.c
//
// A fix of our own for what FINDINGS.md tells ("The first fsync after a checkpoint does not wait for its node"),
// so that the library can look behind that bug: tox run -e crash-f2fs -- --kernel
// 6.12+fix/f2fs-fsync-waits-for-first-node.
//
// What is changed. Nodes that fsync writes are numbered from 0 on (fsync_seg_id), and
// f2fs_wait_on_node_pages_writeback() takes 0 for "none was written". Now they are numbered from 1 on.
//
// How it was checked. With it the library gives none of the findings of that bug.

@@
struct f2fs_sb_info *sbi;
@@
- sbi->fsync_seg_id = 0;
+ sbi->fsync_seg_id = 1;
