// A file's name in a new directory is lost when the file is fsynced by another name
//
// re-creates: 41bd60676923 ("Btrfs: fix fsync of files with multiple hard links in new directories");
//             CrashMonkey's B3-5 and B3-7, fstests generic/520.
// caught by:  durable
// workloads:  link-between-new-directories link-to-other-directory-fsync-file
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. An fsync logs the new directories above every name of the file (log_all_new_ancestors()).
// It now takes the way for files with one name, which follows only the name that was given to fsync.
//
// Why it loses data. The log holds the reference of the other name and not its directory. Replay passes over
// a reference whose directory it cannot find, so the name is gone, and the directory with it.
//
// Why it is silent otherwise. Replay sets the link count to the names that it finds: nothing warns, fsck is
// content.
//
// Seen with: `creat foo`, `mkdir A`, `link foo A/bar`, `fsync foo`.

@@
expression inode;
@@
log_all_new_ancestors(...)
{
<...
- inode->vfs_inode.i_nlink < 2
+ inode->vfs_inode.i_nlink > 0
...>
}
