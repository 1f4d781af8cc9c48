// f2fs writes no checkpoint when a new file is fsynced whose directory has new attributes
//
// re-creates: bbf156f7afa7 ("f2fs: fix lost xattrs of directories") (in v4.9): the checkpoint that it added, in the form
//             that it has since v6.11, is left out.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// workloads:  set-on-directory-then-new-file-fsynced
// absent: 5.10 (a change of a directory's attributes sets a flag there, for which any fsync writes a checkpoint)
// files: fs/f2fs/file.c
//
// What is changed. f2fs notes the directories whose extended attributes were changed since the last checkpoint. An fsync of a
// file in one of them is to write a checkpoint. It no longer looks.
//
// Why it loses what was promised. The fsync writes the node of the file, and recovery enters its name. The nodes of the
// directory are those of the checkpoint: a file that inherited its label, or its key, is older than they are.
//
// Why it is silent otherwise. Any later checkpoint has the attributes.

@@
expression sbi, pino;
@@
need_do_checkpoint(...)
{
<...
- f2fs_exist_written_data(sbi, pino, XATTR_DIR_INO)
+ false
...>
}
