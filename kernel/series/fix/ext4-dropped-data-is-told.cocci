// ext4 tells the next fsync and syncfs when it drops data for which it found no blocks
//
// profiles:   ext4-one-group ext4-journal-device ext4-bigalloc
// workloads:  syncfs-cannot-read-free-space syncfs-cannot-read-where-nodes-lie data-dropped-before-the-fsync
// files: fs/ext4/inode.c
//
// A fix of our own for what FINDINGS.md tells ("Data that gets no blocks is dropped, and no fsync is told").
//
// What is changed. ext4_do_writepages() drops dirty pages when no blocks can be allocated for them. Now it records that
// error in the mapping, as ext4_end_bio() does when the device fails to write a page.
//
// How it was checked. With it the three workloads keep every promise on the three profiles and on ext4-journal-device-ordered,
// 6.12 and 7.2.

@@
identifier mpd, give_up_on_write, ret;
@@
ext4_do_writepages(...)
{
<...
ret = mpage_map_and_submit_extent(..., &give_up_on_write);
...
mpage_release_unused_pages(mpd, give_up_on_write);
+	if (give_up_on_write)
+		mapping_set_error(inode->i_mapping, ret);
...>
}
