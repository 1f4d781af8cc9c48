// A checkpoint of f2fs does not wait for node blocks
//
// re-creates: the class of what F2FS_WB_CP_DATA counts: the writes that a checkpoint has to wait for.
// caught by:  mounts, durable, fsck, consistent, usable, quiet
// profiles:   f2fs
// config:     f2fs
// device:     slow
// workloads:  fsync-new-file
// files: fs/f2fs/data.c
//
// What is changed. f2fs counts the writes under way that a checkpoint relies on, those of node blocks, of its own
// metadata and of directories, and waits until there are none before it writes the block that makes the
// checkpoint count. Node blocks are no longer among them.
//
// Why it loses what was synced. The last block of the checkpoint is written after a flush of the device's cache.
// A node block that is still on its way is behind that flush, and the new node address table points to a place
// that holds something else.
//
// Why it is silent otherwise. Node blocks are submitted before the blocks of the checkpoint, which it does wait
// for. A device that completes writes in their order has them by then.
//
// Seen with: any sync, on a device that completes writes out of order.

@@
expression other, inode, sbi;
@@
(
- other || inode->i_ino == F2FS_NODE_INO(sbi)
+ other
|
- other || inode->i_ino ==  F2FS_NODE_INO(sbi)
+ other
)
