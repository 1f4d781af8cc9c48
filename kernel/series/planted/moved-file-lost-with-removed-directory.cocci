// A file moved out of a directory is lost when that is removed and its parent fsynced
//
// re-creates: the window that c466e33e729a ("btrfs: propagate last_unlink_trans earlier when doing a rmdir")
//             closed, and what 1ec9a1ae1e30 ("Btrfs: fix unreplayable log after snapshot delete + parent dir
//             fsync") put this code there for: with a moved file in place of the deleted snapshot.
// caught by:  atomic, durable
// workloads:  move-out-remove-directory move-out-replace-directory
// profiles:   btrfs
// files: fs/btrfs/inode.c
//
// What is changed. rmdir hands the note that something was moved out of the directory (last_unlink_trans) on
// to the parent, so that an fsync of the parent commits the whole transaction. It no longer does.
//
// Why it loses data. The fsync logs the parent with a range that says that the directory is gone, and nothing
// of the file that left it. Replay removes the directory and, as it has no link left, all that it holds on
// disk: there the file still is.
//
// Why it is silent otherwise. What replay removes it removes properly, as after a rm -r: nothing warns, fsck
// is content. A kernel that runs on has the file at its new place.
//
// Seen with: sync with A/x/foo in it, `rename A/x/foo B/foo`, `rmdir A/x`, `fsync A`.

@@
expression inode, trans;
statement S;
@@
btrfs_rmdir(...)
{
<...
- if (inode->last_unlink_trans >= trans->transid) S
...>
}
