// Recovery of a file gives back what lies behind its end
//
// files: fs/f2fs/recovery.c
//
// A fix of our own for F2FS-7, to show the cause, and not to be taken: it also takes away what fallocate reserved behind the end, which
// fstests generic/483 asks for.

@@
expression sbi;
identifier entry, blkaddr;
struct page *page;
@@
  err = do_recover_data(sbi, entry->inode, page);
  if (err) { ... }
  ...
  if (entry->blkaddr == blkaddr)
- list_move_tail(&entry->list, tmp_inode_list);
+ {
+ 	err = f2fs_truncate_blocks(entry->inode, i_size_read(entry->inode), false);
+ 	if (err) {
+ 		f2fs_put_page(page, 1);
+ 		break;
+ 	}
+ 	list_move_tail(&entry->list, tmp_inode_list);
+ }

@@
expression sbi;
identifier entry, blkaddr;
struct folio *folio;
@@
  err = do_recover_data(sbi, entry->inode, folio);
  if (err) { ... }
  ...
  if (entry->blkaddr == blkaddr)
- list_move_tail(&entry->list, tmp_inode_list);
+ {
+ 	err = f2fs_truncate_blocks(entry->inode, i_size_read(entry->inode), false);
+ 	if (err) {
+ 		f2fs_folio_put(folio, true);
+ 		break;
+ 	}
+ 	list_move_tail(&entry->list, tmp_inode_list);
+ }
