// ext4's fsync does not tell that writing a file's data failed
//
// re-creates: the class of 07ad6a6b7b3e and of what fstests generic/441 asks about: fsync that waits for
//             writeback and drops what it learnt.
// caught by:  told
// profiles:   ext4
// faults:     sweep
// workloads:  overwrite-in-place fsync-new-file
// files: fs/ext4/fsync.c
//
// What is changed. ext4_sync_file() still writes the file's pages and waits for them, and no longer looks at
// the result. The journal is committed as ever.
//
// Why it loses data. The call that looks at the error also marks it as told to this descriptor, so nobody hears
// of it later. The pages are clean, the blocks hold what they held before, and fsync has said that all is well.
//
// Why it is silent otherwise. Without an error of the device there is nothing to tell.

@@
identifier ret, file, start, end;
@@
  ext4_sync_file(...)
  {
  <...
- ret = file_write_and_wait_range(file, start, end);
- if (ret)
- 	goto out;
+ file_write_and_wait_range(file, start, end);
  ...>
  }
