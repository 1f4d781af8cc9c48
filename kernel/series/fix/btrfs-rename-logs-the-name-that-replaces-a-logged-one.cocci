// btrfs logs the new name of a file where the name that it replaces, or its directory, is in the log
//
// profiles:   btrfs
// workloads:  replace-synced-fsync-other replace-synced-directory-fsync-other rename-over-synced-file
// absent:     5.10 (the bug does not show there)
// files: fs/btrfs/inode.c
//
// A fix of our own for what FINDINGS.md tells ("A fsynced file replaced by rename is lost when another file is
// fsynced").
//
// What is changed. btrfs_rename() takes the replaced entry out of the log. Where the replaced inode or the directory
// is logged in this transaction, the rename notes its own inode as logged, too, so that btrfs_log_new_name() does not
// return early and the entry that replaces the other is in the same log. Of a directory that moves the log is given up
// for a full commit.
//
// How it was checked. With it the three workloads keep every promise on 6.12.

@@
expression told;
@@
  btrfs_rename(...)
  {
  <...
+ if (new_inode && (BTRFS_I(new_inode)->logged_trans == trans->transid || BTRFS_I(new_dir)->logged_trans == trans->transid)) {
+	if (S_ISDIR(old_inode->i_mode)) {
+		btrfs_set_log_full_commit(trans);
+	} else {
+		spin_lock(&BTRFS_I(old_inode)->lock);
+		BTRFS_I(old_inode)->logged_trans = trans->transid;
+		spin_unlock(&BTRFS_I(old_inode)->lock);
+	}
+ }
  ret = btrfs_add_link(trans, BTRFS_I(new_dir), BTRFS_I(old_inode), &new_fname.disk_name, told, index);
  ...>
  }
