// Replay that adds a name to a directory sets the directory's times
//
// re-creates: 5338e43abbab ("Btrfs: fix wrong ctime and mtime of a directory after log replay") taken back,
//             fstests generic/547.
// caught by:  durable
// workloads:  fsynced-directory-keeps-its-times
// profiles:   btrfs
// files: fs/btrfs/inode.c
//
// What is changed. A new name sets mtime and ctime of its directory. Log replay adds names with the same function
// and leaves the times alone. It no longer does.
//
// Why it loses metadata. Replay copies the logged inode of a directory first, with the times that fsync found, and
// adds the names afterwards. The times are then those of the mount.
//
// Why it is silent otherwise. Names, sizes and link counts are right, nothing warns, and fsck compares no times.
//
// Seen with: `mkdir A`, sync, `creat A/new`, `fsync A`.

@@
identifier f =~ "^(btrfs_add_link|update_time_after_link_or_unlink)$";
expression flags;
statement set;
@@
f(...)
{
<+...
(
- if (!test_bit(BTRFS_FS_LOG_RECOVERING, flags))
  set
|
- if (test_bit(BTRFS_FS_LOG_RECOVERING, flags))
-	return;
)
...+>
}
