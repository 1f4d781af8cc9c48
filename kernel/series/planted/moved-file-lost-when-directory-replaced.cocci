// A file moved out of a directory is lost when a new directory takes that one's name and is fsynced
//
// re-creates: the example of 12fcfd22fe5b ("Btrfs: tree logging unlink/rename fixes"), with the old directory
//             removed; the care that a3baaf0d786e ("Btrfs: fix fsync after succession of renames and
//             unlink/rmdir") takes of it is what 5557a069f3d7 ("btrfs: skip logging parent dir when
//             conflicting inode is not a dir") keeps for directories only.
// caught by:  atomic, durable
// workloads:  move-out-replace-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent:     5.10 (it has no add_conflicting_inode(), and logs such a parent in another way)
//
// What is changed. Before the new owner of a name is logged, its old owner is looked up
// (btrfs_check_ref_name_override()). If that was a directory and is removed, its parent is logged, too, which
// commits the transaction when something had been moved out. The parent is now passed over, as it rightly is
// when the old owner was a file.
//
// Why it loses data. The log holds the new directory only. Replay gives it the name, which unlinks the old
// directory, and removes with it what that holds on disk: the file that had long left.
//
// Why it is silent otherwise. Entries, link counts and free space agree after replay, nothing warns, fsck is
// content. An old directory that was empty on disk is replaced as it should be.
//
// Seen with: sync with A/x/foo in it, `rename A/x/foo B/foo`, `rmdir A/x`, `mkdir A/x`, `fsync A/x`.

@@
expression root, inode_number, path;
@@
add_conflicting_inode(...)
{
<...
- ret = conflicting_inode_is_dir(root, inode_number, path);
+ ret = min(conflicting_inode_is_dir(root, inode_number, path), 0);
...>
}
