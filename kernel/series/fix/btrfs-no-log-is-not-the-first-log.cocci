// btrfs distinguishes a root without a log from a root whose first log is on disk
//
// files: fs/btrfs/disk-io.c
//
// A fix of our own for what FINDINGS.md tells ("An fsync returns while another task has the file in a log that is not
// on disk").
//
// What is changed. The number of the last log that was synced begins at -1, as log_transid_committed does: the first
// log of a transaction has the number 0.
//
// How it was checked. With it same-file-fsynced-at-once-in-first-log keeps every promise, and so does its theme.

@@
expression root;
@@
(
- btrfs_set_root_last_log_commit(root, 0);
+ btrfs_set_root_last_log_commit(root, -1);
|
- root->last_log_commit = 0;
+ root->last_log_commit = -1;
)
