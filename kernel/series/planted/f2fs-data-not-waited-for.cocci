// An fsync on f2fs does not wait for the file's data
//
// re-creates: the class of fsync that starts writeback and does not wait for it.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// device:     slow
// workloads:  files-overwritten-and-fsynced-in-turn
// files: fs/f2fs/file.c
//
// What is changed. f2fs_do_sync_file() starts the writeback of the file's pages and waits for them, then writes
// the node blocks that point to them and waits for these, then flushes. The first wait is left out.
//
// Why it loses what was fsynced. Data that is still on its way is behind the flush, and the node blocks that
// recovery takes for whole are before it.
//
// Why it is silent otherwise. Data is submitted before the node blocks. A device that completes writes in their
// order has the data when the wait for the node blocks ends.
//
// Seen with: write, fsync, on a device that completes writes out of order.

@@
identifier ret, file, start, end;
@@
f2fs_do_sync_file(...)
{
<...
- ret = file_write_and_wait_range(file, start, end);
+ ret = filemap_fdatawrite_range(file->f_mapping, start, end);
...>
}
