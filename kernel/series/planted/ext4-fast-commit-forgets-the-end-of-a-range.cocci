// ext4's fast commit forgets the end of what changed when something before it changes
//
// re-creates: the class of 5e4d0eba1cca ("ext4: fix fast commit may miss tracking range for FALLOC_FL_ZERO_RANGE") (in
//             v5.17): blocks that changed are not in the range that a fast commit writes of a file.
// caught by:  durable
// profiles:   ext4-fast-commit
// workloads:  ranges-changed-from-behind
// files: fs/ext4/fast_commit.c
//
// What is changed. The range of a file that a fast commit is to write grows when a change begins before it. Its end is then
// computed from the new beginning in place of the old one.
//
// Why it loses what was fsynced. The range is as long as it was, and ends too early. What changed first is not written, and
// replay leaves it as it was in the last full commit.
//
// Why it is silent otherwise. A full commit has everything. Writeback goes from the front of a file to its end, so a range
// grows at its end alone.

@@
expression oldstart, ei, end;
@@
__track_range(...)
{
<...
- max(oldstart + ei->i_fc_lblk_len - 1, end)
+ max(ei->i_fc_lblk_start + ei->i_fc_lblk_len - 1, end)
...>
}
