// jbd2 makes no fast commit while its superblock says that the journal is empty
//
// profiles:   ext4-fast-commit
// workloads:  fsync-after-thaw remounted-read-only
// files: fs/jbd2/journal.c
//
// A fix of our own for EXT4-18 (docs/findings/EXT4-18.md).
//
// What is changed. A flush of the journal, as freezing does it, writes a superblock that says that the journal is empty,
// and the next full commit writes one that says where it begins (JBD2_FLUSHED). A fast commit between the two is never
// replayed. It is refused now, so that the caller makes a full commit.
//
// How it was checked. With it the workloads above keep the promises that EXT4-18 breaks, on 6.12.

@@
symbol journal;
@@
  jbd2_fc_begin_commit(...)
  {
  ...
  write_lock(&journal->j_state_lock);
+ if (journal->j_flags & JBD2_FLUSHED) {
+ 	write_unlock(&journal->j_state_lock);
+ 	return -EINVAL;
+ }
  ...
  }
