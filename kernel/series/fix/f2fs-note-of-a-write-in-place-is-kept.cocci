// f2fs does not forget that a file was written in place while a flush is under way
//
// files: fs/f2fs/file.c
//
// A fix of our own for what FINDINGS.md tells ("An fdatasync that meets another's flush sends none"), to show the cause
// and to look behind it.
//
// What is changed. FI_UPDATE_WRITE says that a file was written in place since its last flush. An fsync takes the
// mark away when its flush is over, and with it the mark of what another thread wrote meanwhile. Now only a
// checkpoint takes it away. Every fsync of such a file sends a flush, needed or not: a fix for use would count the
// writes, and take the mark away where there was none since the flush began.
//
// How it was checked. With it overwritten-while-another-flushes keeps every promise on 7.2 in six runs; without it
// none of twelve did.

@@
identifier f =~ "^f2fs_do_sync_file$";
expression inode, sbi, ino;
@@
f(...) {
<...
-	clear_inode_flag(inode, FI_UPDATE_WRITE);
	f2fs_remove_ino_entry(sbi, ino, FLUSH_INO);
...>
}
