// ext4 puts two inodes onto the list of orphans at once
//
// re-creates: the class of cd2c080c33ad ("ext4: reduce contention on s_orphan_lock"), which took most of
//             ext4_orphan_add() out of the lock.
// caught by:  fsck
// profiles:   ext4
// orders:     40
// workloads:  open-files-unlinked-at-once
// files: fs/ext4/orphan.c
// absent: 5.10 (there the list is in another file, and filled by other steps)
//
// What is changed. The list of orphans on the disk begins in the superblock and goes through the inodes. The next one of
// a new orphan is read from the superblock before the lock is taken.
//
// Why it leaves an orphan behind. Two tasks read the same first inode, and each puts its own before that. Then the
// superblock names the later one, and nothing leads to the other. After a power failure the other is not freed: it has
// no name, and its bit in the bitmap is set.
//
// Why it is silent otherwise. Nothing sleeps between the reading and the lock, so with one processor nobody comes
// between. Without a power failure the list in memory frees both.
//
// The window is made wider: behind the reading the task spins. A tick that asks it to give way meanwhile is not heeded,
// so no other task of the same processor runs in between.
//
// Seen with: open files that two threads unlink in two directories.

@@
typedef u32;
expression inode, sbi, wanted;
@@
ext4_orphan_add(...)
{
<...
+ u32 first = le32_to_cpu(sbi->s_es->s_last_orphan);
+
+ udelay(500);
+ clear_tsk_need_resched(current);
  mutex_lock(&sbi->s_orphan_lock);
  if (wanted) {
- 	NEXT_ORPHAN(inode) = le32_to_cpu(sbi->s_es->s_last_orphan);
+ 	NEXT_ORPHAN(inode) = first;
  	...
  }
...>
}

@@
@@
  #include <linux/fs.h>
+ #include <linux/delay.h>
