// f2fs' recovery leaves a file its old mode
//
// re-creates: fstests generic/535: a mode that was changed and fsynced is to be there after a power failure.
// caught by:  durable
// workloads:  chmod-fsync
// profiles:   f2fs
// config:     f2fs
// files: fs/f2fs/recovery.c
//
// What is changed. An fsync on f2fs writes the file's node blocks, and recovery takes from them what the last
// checkpoint does not know. The mode is no longer among what it takes from the node of an inode.
//
// Why it loses what was fsynced. The inode of the checkpoint has the mode of before the chmod.
//
// Why it is silent otherwise. Owner, size, times and flags are recovered, and so is the mode of an inode that the
// checkpoint does not know at all.
//
// Seen with: a file that was synced, chmod, its fsync.

@@
expression inode, raw;
@@
recover_inode(...)
{
<+...
- inode->i_mode = le16_to_cpu(raw->i_mode);
...+>
}
