// A file is found in two directories after the one it left was replaced by the one it went to
//
// re-creates: 0f375eed92b5 ("Btrfs: fix wrong dentries after fsync of file that got its parent replaced");
//             fstests generic/510.
// caught by:  atomic, durable
// workloads:  rename-over-empty-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
//
// What is changed. An fsync of a file that was renamed logs the directories that hold it on disk
// (btrfs_log_all_parents()). If one of them is removed, which the log cannot tell of, the whole transaction
// is committed. Such a directory is now passed over.
//
// Why it breaks. The log holds the file in its new directory and does not say that it left the old one, which
// is still there on disk. Replay adds the new name and keeps the old one.
//
// Why it is silent otherwise. Replay sets the link count to the names that it finds, so the file is a proper
// hard link: nothing warns, fsck is content.
//
// Seen with: sync with T/A and T/B/bar in it, `rename T/B/bar T/A/bar`, `rename T/A T/B`, `fsync T/B/bar`.

@@
@@
btrfs_log_all_parents(...)
{
<...
  if (IS_ERR(dir_inode)) {
    ret = PTR_ERR(dir_inode);
+   if (ret == -ENOENT) {
+     ret = 0;
+     continue;
+   }
    goto out;
  }
...>
}
