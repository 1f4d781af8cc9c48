// Blocks of data that were written and freed since the last checkpoint are given out again before the next one
//
// re-creates: 899fee36fac0 ("f2fs: fix to avoid data corruption by forbidding SSR overwrite") (in v5.4)
// caught by:  durable, historical
// profiles: f2fs
// workloads: large-holes-of-a-fsynced-file-used-at-once
// files: fs/f2fs/segment.c
//
// What is changed. update_sit_entry() notes new blocks of nodes in the map of what must not be overwritten, and those of data no more.
//
// Why it loses data. The node that an fsync wrote points to such a block, and recovery follows it.
//
// Why it is silent otherwise. Blocks are written again in a segment only when there are few free ones, and the segment at hand is full.

@@
expression sbi, se;
@@
update_sit_entry(...)
{
<...
- if (!is_sbi_flag_set(sbi, SBI_CP_DISABLED)) {
+ if (IS_NODESEG(se->type) && !is_sbi_flag_set(sbi, SBI_CP_DISABLED)) {
  if (!f2fs_test_and_set_bit(..., se->ckpt_valid_map))
    se->ckpt_valid_blocks++;
  }
...>
}
