// f2fs syncs one file after the other, so that no fsync returns while another writes what it found clean
//
// files: fs/f2fs/file.c
//
// A fix of our own for F2FS-12, so that the library can look behind that bug.
//
// What is changed. All fsyncs take turns. A fix for use would have one lock for each file.
//
// How it was checked. With it the workload of that bug keeps its promises.

@@
@@
+ static struct mutex one_fsync_at_a_time = __MUTEX_INITIALIZER(one_fsync_at_a_time);
+
int f2fs_sync_file(...)
{
...
}

@@
expression list arguments;
@@
int f2fs_sync_file(...)
{
+ int status;
...
- return f2fs_do_sync_file(arguments);
+ mutex_lock(&one_fsync_at_a_time);
+ status = f2fs_do_sync_file(arguments);
+ mutex_unlock(&one_fsync_at_a_time);
+ return status;
}
