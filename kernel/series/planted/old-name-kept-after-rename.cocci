// A file moved out of a logged directory is found under both names
//
// re-creates: the class that 88d2beec7e53 ("btrfs: avoid logging all directory changes during renames")
//             (in v5.18) has to avoid, and for which it put this code here; cf. fstests generic/335,
//             where the same move loses the file instead.
// caught by:  atomic
// profiles: btrfs
// workloads: move-out-of-logged-directory
// absent:     5.10 (there the old name leaves the log with the unlink that a rename begins with)
// files: fs/btrfs/tree-log.c
//
// What is changed. When a file is renamed out of a directory that is already in the log of this
// transaction, btrfs_log_new_name() records in the log that the old name is gone (del_logged_dentry(), or
// a range item when the name was never logged). That block is taken out.
//
// Why it breaks. btrfs_record_unlink_dir() did not mark the old directory, because it trusts this block;
// need_log_inode() does not log the directory again, because it is in the log already. So the log holds
// the file's new name and says nothing of the old one. Replay adds the new name. It removes old names only
// as far as they share the new name's INODE_REF item, which is one for each parent directory: a rename
// inside one directory still comes out right, one to another directory leaves the old name.
//
// Why it is silent otherwise. Replay counts the references it finds and sets the link count to them
// (fixup_inode_link_count()), so the file is a proper hard link with two names: entries, references and
// counts agree, nothing warns, fsck is content, every file reads, everything can be deleted.
//
// Seen with: sync with A/foo in it; then log A (creat A/bar, fsync A), `rename A/foo B/foo`, and an fsync
// that is not of A (`fsync B/foo`).

@@
identifier trans, old_dir;
statement list body;
@@
- if (old_dir && old_dir->logged_trans == trans->transid) { body }
