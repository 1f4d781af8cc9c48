// A file that recovery makes anew is taken for a directory, and a later fsync of it writes nothing
//
// re-creates: ef2a007134b4 ("f2fs: fix to recover cold bit of inode block during POR") (in v4.19), without its fix
// caught by:  durable
// profiles: f2fs
// workloads: small-recovered-file-grows
// files: fs/f2fs/node.c fs/f2fs/inode.c
//
// What is changed. f2fs_recover_inode_page() leaves the mark out by which the inode of a file is told from that of a directory,
// and do_read_inode() does not mend it.
//
// Why it loses what was durable. An fsync writes those nodes alone that have the mark (f2fs_fsync_node_pages()), and believes
// that all is on disk. The next power failure shows the file as the first recovery made it.
//
// Why it is silent otherwise. The first recovery is right, and a checkpoint writes every node.

@@
expression P;
@@
f2fs_recover_inode_page(...)
{
<...
-	set_cold_node(P, false);
...>
}

@@
expression P, I;
@@
do_read_inode(...)
{
<...
-	if (!S_ISDIR(I->i_mode) && !is_cold_node(P)) { ... }
...>
}
