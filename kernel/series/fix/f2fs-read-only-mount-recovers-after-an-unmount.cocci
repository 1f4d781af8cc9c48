// f2fs recovers what was fsynced since a clean unmount in a read-only mount, too, and looks for it on a read-only device
//
// absent: 5.10 6.1 (the first of the two conditions came with e1bb7d3d9cbf ("f2fs: fix to recover quota data correctly"))
// files: fs/f2fs/super.c
//
// A fix of our own for F2FS-13. The last checkpoint says that the filesystem was unmounted until the next one is written, which
// no fsync does. So nothing follows from it for what was fsynced since.

@@
identifier f2fs_need_recovery = { f2fs_need_recovery };
expression sbi;
@@
 f2fs_need_recovery(...)
 {
 	<...
-	return !is_set_ckpt_flags(sbi, CP_UMOUNT_FLAG);
+	return true;
 	...>
 }

@@
expression sbi;
@@
 if (f2fs_hw_is_readonly(sbi)) {
- if (!is_set_ckpt_flags(sbi, CP_UMOUNT_FLAG)) {
+ if (true) {
  	...
  }
  ...
 }
