// ext4's fast commit keeps the first bytes of a long name
//
// re-creates: the class of a7ba36bc94f2 ("ext4: fix fast commit alignment issues") (in v5.13): what a fast commit says of
//             a name is not what the call did.
// caught by:  durable, historical, ordered
// profiles:   ext4-fast-commit
// workloads:  many-names-fsync
// files: fs/ext4/fast_commit.c
//
// What is changed. A name that does not fit into the structure is copied as before, and its length is that of the
// structure.
//
// Why it loses the name. Replay makes an entry with the first 40 bytes of the name.
//
// Why it is silent otherwise. The directory itself is right, and a full commit writes it.

@@
expression node, dentry;
@@
__track_dentry_update(...)
{
<...
- node->fcd_name.len = dentry->d_name.len;
+ node->fcd_name.len = min_t(u32, dentry->d_name.len, DNAME_INLINE_LEN);
...>
}
