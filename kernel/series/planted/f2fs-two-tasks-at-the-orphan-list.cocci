// f2fs puts two inodes onto the list of orphans at once
//
// re-creates: the class that ino_lock closes, the lock "for ino entry lock" of each list (fs/f2fs/f2fs.h).
// caught by:  fsck
// profiles:   f2fs
// orders:     40
// workloads:  open-files-unlinked-at-once
// files: fs/f2fs/checkpoint.c
//
// What is changed. __add_ino_entry() adds an inode at the end of a list under its lock. It lets go of the lock between
// the reading of the end and the adding.
//
// Why it leaves an orphan behind. Two tasks add behind the same last inode, and the list leads to one of them. A
// checkpoint writes down the orphans of the list. After a power failure the other is not freed: it has no name, and its
// node is in use.
//
// Why it is silent otherwise. Nothing sleeps between the reading and the adding, so with one processor nobody comes
// between.
//
// The window is made wider: behind the reading the task spins. A tick that asks it to give way meanwhile is not heeded,
// so no other task of the same processor runs in between.
//
// Seen with: open files that two threads unlink in two directories.

@@
expression im, entry;
@@
__add_ino_entry(...)
{
<...
- list_add_tail(&entry->list, &im->ino_list);
+ struct list_head *last = im->ino_list.prev;
+
+ spin_unlock(&im->ino_lock);
+ udelay(500);
+ clear_tsk_need_resched(current);
+ spin_lock(&im->ino_lock);
+ entry->list.prev = last;
+ entry->list.next = &im->ino_list;
+ last->next = &entry->list;
+ im->ino_list.prev = &entry->list;
...>
}

@@
@@
  #include <linux/fs.h>
+ #include <linux/delay.h>
