// ext4's rename does not wait for its transaction in a synchronous directory
//
// re-creates: no single fix: what mount(8) says of sync and dirsync. For names what
//             planted/xfs-synchronous-copy-not-forced is for data.
// caught by:  durable
// profiles:   ext4-sync
// workloads:  rename-chain-reuse-name
// files: fs/ext4/namei.c
//
// What is changed. ext4_rename() no longer marks its handle as one whose end waits for the commit.
//
// Why it loses the rename. Under mount -o sync, or dirsync, or in a directory with the flag D, the call returns when what
// it did is on disk. Here it returns with the rename in memory.
//
// Why it is silent otherwise. Where nothing is synchronous nobody asks, and any later synchronous call takes it along.

@@
@@
ext4_rename(...)
{
<...
- if (IS_DIRSYNC(...) || IS_DIRSYNC(...))
- 	ext4_handle_sync(...);
...>
}
