// A wait for the pages of a file waits only for the last of them
//
// re-creates: the class of a wait for the last of several writes, taken for a wait for all of them.
// caught by:  durable
// profiles:   xfs
// device:     slow
// workloads:  files-overwritten-and-fsynced-in-turn
// files: mm/filemap.c
//
// What is changed. __filemap_fdatawait_range(), by which fsync waits for data, takes the pages under writeback in
// groups and waits for each page. It now waits for the last one of each group.
//
// Why it loses what was fsynced. XFS writes the log after a flush of the device's cache and adds no flush of its
// own. A page that is still on its way is behind that flush, and so is the conversion of its extent from
// unwritten to written: after a power failure the file has zeros there.
//
// Why it is silent otherwise. Pages are submitted in their order. A device that completes writes in their order
// has all of them when it has the last one.
//
// Seen with: a file of two extents, its fsync, on a device that completes writes out of order.

@@
identifier i, count, folio, batch;
@@
__filemap_fdatawait_range(...)
{
<...
for (i = 0; i < count; i++) {
	struct folio *folio = batch.folios[i];

-	folio_wait_writeback(folio);
+	if (i == count - 1)
+		folio_wait_writeback(folio);
	...
}
...>
}

@@
identifier i, count, page, batch;
@@
__filemap_fdatawait_range(...)
{
<...
for (i = 0; i < count; i++) {
	struct page *page = batch.pages[i];

-	wait_on_page_writeback(page);
+	if (i == count - 1)
+		wait_on_page_writeback(page);
	...
}
...>
}
