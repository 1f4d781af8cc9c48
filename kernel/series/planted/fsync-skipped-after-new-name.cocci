// An fsync of a directory that a link has logged writes nothing
//
// re-creates: bfe3d755ef7c ("btrfs: do not update last_log_commit when logging inode due to a new name");
//             fstests generic/782. Kin of d4682ba03ef6 ("Btrfs: sync log after logging new name"),
//             generic/498.
// caught by:  durable
// workloads:  link-into-new-directory-fsync-root
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent:     5.10 (there the condition is another, and left out new names of directories only)
//
// What is changed. A link or rename of a logged file logs its directories as well, but does not write the log
// out. They are no longer left out of the note (last_log_commit) that an inode's log is as new as the inode.
//
// Why it loses data. The next fsync of such a directory finds the note, believes that all is on disk, and
// returns. The names in it are on disk only when some other fsync writes the log.
//
// Why it is silent otherwise. The log in memory is right, and whatever writes it makes all well. A log that
// is never written leaves a filesystem of an earlier moment: nothing warns, fsck is content.
//
// Seen with: sync with foo in it, `mkdir A`, `write foo`, `fsync foo`, `link foo A/bar`, `fsync .`.

@@
expression ctx, rest;
@@
- !ctx->logging_new_name && rest
+ rest
