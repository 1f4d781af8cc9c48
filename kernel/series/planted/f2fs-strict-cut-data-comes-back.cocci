// A file that was cut within a block and grows shows the bytes that were cut off
//
// re-creates: the part for fsync_mode=strict of "f2fs: fix to zero post-EOF data when extending file size" (in 6.12.117), left out
// caught by:  historical
// profiles: f2fs-strict
// workloads: cut-and-grown-before-a-checkpoint
// files: fs/f2fs/file.c
//
// What is changed. f2fs_zero_post_eof_page() does not write the zeros behind the end with fsync_mode=strict.
//
// Why it is wrong. A checkpoint writes the larger size, and not the page: after a power failure the old bytes are read where
// zeros were.
//
// Why it is silent otherwise. The page in memory has the zeros, and is written some seconds later.

@@
expression I, N;
@@
f2fs_zero_post_eof_page(...)
{
<...
-	return do_zero_post_eof_page(I, N);
+	return strict ? 0 : do_zero_post_eof_page(I, N);
...>
}
