// ext4's writeback leaves a clean page marked as dirty in its file
//
// re-creates: the class of "ext4: Fix stale xarray tags after writeback" (2026): pages that a checkpoint of data=journal has
//             written, and that the file still counts as dirty when nothing may be written any more.
// caught by:  quiet
// profiles:   ext4-short-journal
// workloads:  read-only-after-checkpointed-pages
// absent: 5.10 6.1 (they do not clear the mark)
// files: fs/ext4/page-io.c fs/ext4/inode.c
//
// What is changed. A page with nothing to write, or that is clean, is passed over. The state of writeback, through which it
// went to lose its mark, is left out.
//
// Why it is wrong. The file has marked pages for ever. Writeback of a filesystem that became read-only starts a transaction
// for them, which warns.
//
// Why it is silent otherwise. All bytes are on the disk.

@@
identifier folio, keep_towrite, nr_to_submit;
@@
ext4_bio_write_folio(...)
{
<...
if (!nr_to_submit) {
- 	__folio_start_writeback(folio, keep_towrite);
- 	folio_end_writeback(folio);
	return 0;
}
...>
}

@@
identifier folio;
@@
mpage_prepare_extent_to_map(...)
{
<...
- if (!folio_test_writeback(folio)) {
- 	__folio_start_writeback(folio, false);
- 	folio_end_writeback(folio);
- }
...>
}
