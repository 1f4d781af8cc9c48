// A page that is written out stays writable where it is mapped
//
// re-creates: the class of d08b3851da41 ("[PATCH] mm: tracking shared dirty pages") (in v2.6.19): what is written out is
//             mapped read-only from then on, so that the next store asks for it.
// caught by:  durable
// profiles:   ext4 xfs btrfs
// workloads:  mapped-page-stored-to-again
// files: mm/page-writeback.c
//
// What is changed. folio_clear_dirty_for_io() no longer takes the right to write from those who have mapped the page.
//
// Why it loses data. The next store through that mapping is not seen: the page is clean, and fsync writes nothing.
//
// Why it is silent otherwise. Whoever unmaps the page, or maps it anew, makes it dirty by that, and it is written then.
//
// Seen with: a store, fsync, another store through the same mapping, fsync.

@@
expression folio;
@@
  folio_clear_dirty_for_io(...) {
  <...
- if (folio_mkclean(folio))
- 	folio_mark_dirty(folio);
  ...>
  }
