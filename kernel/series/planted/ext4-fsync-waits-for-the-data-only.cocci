// An fsync on ext4 waits only for the transaction that fdatasync needs
//
// re-creates: the class that "ext4: Wait for proper transaction commit on fsync" (in v2.6.33) ended by
//             giving each inode two transaction numbers, one for fsync and one for fdatasync; fstests
//             generic/066 and generic/106 ask for what is lost.
// caught by:  durable
// profiles: ext4
// workloads: replace-value link-and-unlink-in-one-transaction
// files: fs/ext4/fsync.c
//
// What is changed. ext4_fsync_journal() waits for i_datasync_tid whether it was called for fsync or for
// fdatasync.
//
// Why it loses data. A change of names, link counts or extended attributes moves i_sync_tid and leaves
// i_datasync_tid where it was. When the file's data was committed before, fsync finds nothing to wait for,
// and what it was called for stays in the running transaction.
//
// Why it is silent otherwise. Data and size are always there, since a change of them moves both numbers.
// The journal is replayed as a prefix, so recovery, fsck and a reader see a consistent tree of a moment
// ago; and in life the next commit comes within five seconds.
//
// Seen with: a file that was synced, then setxattr, link or rename, then its fsync.

@@
expression info, datasync;
@@
- datasync ? info->i_datasync_tid : info->i_sync_tid
+ info->i_datasync_tid
