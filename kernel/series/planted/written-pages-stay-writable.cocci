// A page that is written out stays writable where it is mapped
//
// re-creates: the class of what d08b3851da41 ("[PATCH] mm: tracking shared dirty pages") (in v2.6.19) mended: a page that is
//             written out is mapped read-only again, so that the next store faults and makes it dirty.
// caught by:  durable
// profiles:   ext4 xfs btrfs
// workloads:  mapped-page-stored-to-again
// files: mm/page-writeback.c
//
// What is changed. Before a page is written out, folio_clear_dirty_for_io() makes it read-only in all mappings of it
// (folio_mkclean()). The planted bug leaves this call out.
//
// Why it loses data. The next store through the mapping raises no fault. The page stays clean for the filesystem, and fsync
// writes nothing.
//
// Why it is silent otherwise. When the page is unmapped, the dirty bit of the page table makes it dirty. A new mapping of the
// page faults at its first store. In both cases the page is written later.
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
