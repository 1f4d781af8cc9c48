// A checkpoint does not have what users and groups have by now
//
// re-creates: af033b2aa8a8 ("f2fs: guarantee journalled quota data by checkpoint") (in v4.20), a part of it
// caught by:  consistent
// profiles: f2fs-quota
// workloads: space-of-two-owners-changes-between-syncs
// files: fs/f2fs/super.c
//
// What is changed. f2fs_dquot_mark_dquot_dirty() does not ask the next checkpoint to write quota that changed.
//
// Why it loses what was durable. The numbers stay in memory, while the files that they count are on disk.
//
// Why it is silent otherwise. An unmount writes them. So does the checkpoint behind a change of the quota file itself, as for a
// user who had nothing yet.

@@
expression sbi;
@@
f2fs_dquot_mark_dquot_dirty(...)
{
<...
- set_sbi_flag(sbi, SBI_QUOTA_NEED_FLUSH);
+ (void)sbi;
...>
}
