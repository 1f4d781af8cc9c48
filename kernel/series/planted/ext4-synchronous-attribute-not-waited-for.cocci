// ext4's setxattr does not wait for its transaction where the inode is synchronous
//
// re-creates: no single fix: what mount(8) says of sync, and chattr(1) of the flag S.
// caught by:  durable
// profiles:   ext4-sync
// workloads:  set-remove-set replace-value
// files: fs/ext4/xattr.c
//
// What is changed. ext4_xattr_set_handle() no longer marks its handle as one whose end waits for the commit.
//
// Why it loses the attribute. Under mount -o sync the call returns when what it did is on disk. Here it returns with the
// attribute in memory.
//
// Why it is silent otherwise. Where nothing is synchronous nobody asks, and any later synchronous call takes it along.

@@
@@
ext4_xattr_set_handle(...)
{
<...
- if (IS_SYNC(...))
- 	ext4_handle_sync(...);
...>
}
