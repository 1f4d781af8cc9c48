// A truncate on xfs logs the new size before the data below it is written
//
// re-creates: the NULL files problem, which xfs_setattr_size() names as the reason for what is taken out here;
//             fstests generic/046.
// caught by:  historical
// profiles:   xfs
// workloads:  new-files-truncated-to-more
// files: fs/xfs/xfs_iops.c
//
// What is changed. Before a truncate logs a size, it writes the data that lies between the size on disk and the new
// one. It no longer does.
//
// Why it loses data. The next log force puts the size on disk, and the data is still in memory. After a power
// failure the file has its size, and zeros in place of all that was written.
//
// Why it is silent otherwise. The data is written later, as after any write. What was fsynced is not concerned, and
// the file is consistent.
//
// Seen with: write, truncate to more, fsync of another file.

@@
identifier f =~ "^xfs_setattr_size$|^xfs_vn_setattr_size$";
expression error, mapping, low, high;
@@
f(...)
{
<...
- error = filemap_write_and_wait_range(mapping, low, high);
+ error = 0;
...>
}
