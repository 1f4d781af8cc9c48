// ext4 waits for the blocks of a fast commit before it writes the last one
//
// profiles:   ext4-fast-commit
// workloads:  many-names-fsync unlink-beside-many-new-names reused-name-beside-many-new-names
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-1 (docs/findings/EXT4-1.md).
//
// What is changed. The last block of a fast commit is sent with PREFLUSH and FUA, and a flush covers only writes that
// have completed. So ext4_fc_write_tail() waits for the blocks before it. A fast commit of which only the first
// blocks are on disk had not returned. Its replay ends there and the mount goes on; before, the mount was refused.
//
// How it was checked. With it the workloads above keep the promises that EXT4-1 breaks, on 6.12.

@@
symbol sb, sbi;
@@
  ext4_fc_write_tail(...)
  {
  ...
+ for (off = 0; off < sbi->s_journal->j_fc_off - 1; off++) {
+ 	struct buffer_head *before = sbi->s_journal->j_fc_wbuf[off];
+
+ 	if (!before)
+ 		continue;
+ 	wait_on_buffer(before);
+ 	if (!buffer_uptodate(before))
+ 		return -EIO;
+ }
  ext4_fc_submit_bh(sb, true);
  ...
  }

@@
symbol state;
@@
  ext4_fc_replay_scan(...)
  {
  	<...
(
- ret = state->fc_replay_num_tags ? JBD2_FC_REPLAY_STOP : -ECANCELED;
+ ret = JBD2_FC_REPLAY_STOP;
|
- ret = state->fc_replay_num_tags ? JBD2_FC_REPLAY_STOP : -EFSBADCRC;
+ ret = JBD2_FC_REPLAY_STOP;
)
  	...>
  }
