// A file moved to another directory is lost when the directory it left is fsynced
//
// re-creates: 12fcfd22fe5b ("Btrfs: tree logging unlink/rename fixes"), its first rule; kin of fstests
//             generic/335.
// caught by:  atomic, durable
// workloads:  move-out-fsync-old-directory rename-directory-to-other-parent
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. A rename from one directory to another notes in the directory it leaves
// (last_unlink_trans) that an fsync of it must commit the whole transaction. The note is not made.
//
// Why it loses data. The fsync logs the old directory with a range that says that the name is gone, and
// nothing of the file at its new place. Replay takes the name away, which was the only one on disk, and with
// the last link the file goes.
//
// Why it is silent otherwise. Replay does what it does for a file that was removed: entries, link counts and
// free space agree, nothing warns, fsck is content. A later fsync of the file or of its new directory mends
// it.
//
// Seen with: sync with A/foo in it, `rename A/foo B/foo`, `fsync A`.

@@
@@
btrfs_record_unlink_dir(...)
{
<...
- dir->last_unlink_trans = trans->transid;
...>
}
