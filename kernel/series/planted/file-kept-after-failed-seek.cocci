// A file stays open for ever after a seek for data that found none
//
// re-creates: no single fix: references of an error path that are not given back, which every test of fstests
//             notices at its end as an unmount that fails (common/rc _scratch_unmount)
// caught by:  mounts
// profiles: btrfs
// workloads: truncate-down-and-up
// files: fs/btrfs/file.c
//
// What is changed. lseek(2) with SEEK_DATA behind the last data of a file fails with ENXIO. That way out now
// takes a reference of the open file that nobody gives back.
//
// Why it is harmful. The open file holds the mount, so umount(2) fails with EBUSY until the next boot, though no
// process has a file open there.
//
// Why it is silent otherwise. Every call before the unmount gives what it gave before, the disk is right, and a
// file without a hole at its end never gets there.

@@
symbol file, offset;
@@
 btrfs_file_llseek(...)
 {
 <...
-  if (offset < 0)
-    return offset;
+  if (offset < 0) {
+    get_file(file);
+    return offset;
+  }
 ...>
 }
