// ext4's fallocate, once it had to wait for freed blocks, no longer marks what it reserves as unwritten
//
// re-creates: the class of fstests generic/042: a reservation after which a file shows what its blocks held
//             before.
// caught by:  historical durable
// profiles: ext4
// workloads: freed-blocks-reserved-at-once
// files: fs/ext4/extents.c
//
// What is changed. When ext4_alloc_file_blocks() finds no block, but some will be free once the journal has
// committed, it commits and tries again. From then on its blocks are allocated as if they had been written.
//
// Why it is wrong. Nobody writes zeros into them, so the file shows the bytes of the file that was removed,
// to whomever reads it, and after a power failure.
//
// Why it is silent otherwise. As long as there is one free block the first try succeeds; and on a disk whose
// blocks hold zeros the second one does no harm either.
//
// Seen with: a full filesystem, unlink, and at once a fallocate that needs the blocks which that gave back.

@@
identifier flags;
expression sb, retries;
@@
  ext4_alloc_file_blocks(..., int flags)
  {
  	<...
- 	ext4_should_retry_alloc(sb, retries)
+ 	(flags &= ~EXT4_GET_BLOCKS_UNWRIT_EXT, ext4_should_retry_alloc(sb, retries))
  	...>
  }
