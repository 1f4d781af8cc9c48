// ext4 refuses an orphaned symlink whose text was never written
//
// re-creates: the class of "ext4: do not check fast symlink during orphan recovery" (2026): a check of what is read from the
//             disk that does not know what an orphan may look like; fstests generic/475.
// caught by:  quiet, fsck
// profiles:   ext4-sync
// workloads:  names-when-full
// files: fs/ext4/inode.c
//
// What is changed. The length of a symlink is also checked while orphans are cleaned up.
//
// Why it is wrong. A symlink for whose text there was no block is an orphan of size 0 until its inode is freed. If the power
// fails in between, recovery takes it for damage, and neither this inode nor later ones of the list are freed.
//
// Why it is silent otherwise. It needs a commit between the failed call and the end of its inode.

@@
@@
__ext4_iget(...)
{
<...
- if ((EXT4_SB(sb)->s_mount_state & EXT4_ORPHAN_FS))
+ if (0)
  { ... }
  else { ... }
...>
}
