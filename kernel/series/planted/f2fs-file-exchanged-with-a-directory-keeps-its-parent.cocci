// A file that f2fs exchanges with a directory is recovered under a name that it never had
//
// re-creates: no commit; the sibling of planted/f2fs-rename-keeps-the-parent: what an inode says of its name is void
//             once the file was renamed, and the next fsync has to make a checkpoint.
// caught by:  durable, historical
// profiles:   f2fs
// config:     f2fs
// workloads:  new-file-exchanged-with-directory
// files: fs/f2fs/namei.c
//
// What is changed. An exchange notes of a file that its inode no longer tells its name. Of the second one it is noted
// only if the first one is no directory, either.
//
// Why it loses what was promised. The inode has the new parent and the old name, and fsync writes just that.
//
// Why it is silent otherwise. Two files exchange their names more often than a file and a directory.
//
// Seen with: exchange of a directory with a new file of another directory, fsync of the file.

@@
symbol old_dir_entry, new_dir_entry, new_inode;
statement other;
@@
f2fs_cross_rename(...)
{
<...
- if (!new_dir_entry)
+ if (!old_dir_entry && !new_dir_entry)
  	file_lost_pino(new_inode);
  else other
...>
}
