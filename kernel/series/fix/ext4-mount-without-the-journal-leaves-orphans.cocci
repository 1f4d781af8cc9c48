// A mount of ext4 with noload leaves files without names alone, since what it would write the journal overwrites
//
// files: fs/ext4/orphan.c fs/ext4/super.c
//
// A fix of our own for EXT4-24.

@@
expression sb;
@@
 ext4_orphan_cleanup(...)
 {
 	...
+	if (test_opt(sb, NOLOAD))
+		return;
 	if (bdev_read_only(sb->s_bdev)) {
 		...
 		return;
 	}
 	...
 }
