// Replay of a name looks for its extended reference by the number of the directory
//
// re-creates: b62fd63ade7c ("btrfs: fix invalid extref key setup when replaying dentry"). This takes its change back.
// caught by:  durable, consistent, fsck, mounts, quiet
// workloads:  many-names-fsync-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent: 5.10 (there the log is asked in another function)
//
// What is changed. Replay of an entry of a directory asks whether the log has the reference of the inode, too, and then leaves
// the entry to that. The key of an extended reference is a hash of the directory and the name. It is looked for by the number
// of the directory.
//
// Why it is wrong. The reference is never found, so the name is added twice, by two ways.
//
// Why it is silent otherwise. It takes an inode with so many names in one directory that they do not fit into one item.

@@
expression parent, name, len;
@@
replay_one_name(...)
{
<+...
- btrfs_extref_hash(parent, name, len)
+ parent
...+>
}
