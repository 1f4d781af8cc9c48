// f2fs makes a symlink durable by an fsync of its directory, without a text that does not fit into its inode
//
// re-creates: no known bug; what f2fs_symlink() in fs/f2fs/namei.c writes the text at once for ("Let's flush symlink
//             data in order to avoid broken symlink as much as possible").
// caught by:  consistent durable
// profiles:   f2fs
// workloads:  long-symlink-fsync-parent
// absent: 5.10 (the branch has another one for errors beside it, and is not known by its form)
// files: fs/f2fs/namei.c
//
// What is changed. Where symlink(2) has made a symlink, its text is written out. Now that is done in a synchronous
// directory alone.
//
// Why it loses what was promised. An fsync of a directory writes a checkpoint. It holds the inode of the symlink, and
// not the data of a regular file or symlink. So the link is empty after a power failure, and cannot be read.
//
// Why it is silent otherwise. The text is in memory, and is written within seconds. A text of up to 3,488 bytes stands
// in the inode.
//
// Seen with: a symlink with a text of 3,855 bytes, an fsync of its directory.

@@
identifier dir;
expression status;
@@
f2fs_symlink(..., struct inode *dir, ...)
{
<...
- if (!status)
+ if (!status && IS_DIRSYNC(dir))
  {
  	...
(
  	status = filemap_write_and_wait_range(...);
|
  	filemap_write_and_wait_range(...);
)
  	...
  }
...>
}
