// f2fs' recovery does not make a hole where there were blocks
//
// re-creates: 281518c694a5 ("f2fs: fix fdatasync") (in v4.10): a hole that was punched and synced has to be
//             recovered.
// caught by:  durable
// profiles:   f2fs
// config:     f2fs
// workloads:  holes-behind-another-fsync
// files: fs/f2fs/recovery.c
//
// What is changed. Where the node that fsync wrote has no block and that of the checkpoint has one, recovery takes
// the block off. It now leaves it.
//
// Why it loses what was promised. What was cut off by a truncate or a punched hole is back.
//
// Why it is silent otherwise. Most fsyncs follow writes.
//
// Seen with: punch-hole, fsync.

@@
expression dn, dest;
@@
  if (dest == NULL_ADDR) {
- 	f2fs_truncate_data_blocks_range(&dn, 1);
  	continue;
  }
