// The superblock forgets the log before the log is replayed
//
// re-creates: the class of recovery that cannot be done twice: no fix commit is known for btrfs; ext3's like is
//             353b67d8ced4 ("jbd: Issue cache flush after checkpointing"), of a journal wiped after its replay.
// caught by:  durable
// profiles:   btrfs
// workloads:  fsync-new-file
// models:     N
// files: fs/btrfs/disk-io.c
//
// What is changed. Before btrfs_replay_log() replays the log, it writes the superblock without its pointer to
// the log; stock code does that with the commit of the transaction in which the log was replayed.
//
// Why it loses data. When the power fails again before that commit, the next mount knows of no log: all that
// was fsynced since the last full commit is gone.
//
// Why it is silent otherwise. One replay that goes through to its end brings everything back. Only a second
// power failure shows it, during the recovery from the first.

@@
@@
btrfs_replay_log(...) {
<+...
+ btrfs_set_super_log_root(fs_info->super_for_commit, 0);
+ btrfs_set_super_log_root_level(fs_info->super_for_commit, 0);
+ write_all_supers(fs_info, 1);
  ret = btrfs_recover_log_trees(log_tree_root);
...+>
}
