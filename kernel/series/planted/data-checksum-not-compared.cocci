// Data is read without comparing its checksum
//
// re-creates: the class that fstests btrfs/157 and btrfs/215 ask about: data with a checksum that does not fit
//             must not be given to a reader.
// caught by:  detected
// profiles:   btrfs
// faults:     sweep
// workloads:  overwrite-in-place
// absent: 5.10 6.1 (another function compares there, and a fault that corrupts writes needs v6.5)
// files: fs/btrfs/inode.c
//
// What is changed. btrfs_data_csum_ok() takes every block for one that has no checksum.
//
// Why it is wrong. A byte that changed on its way to the disk is read as if it had been written so.
//
// Why it is silent otherwise. A sound device gives back what was written, and the checksums on disk are right, so
// the checker finds nothing.

@@
identifier bbio;
@@
  btrfs_data_csum_ok(struct btrfs_bio *bbio, ...)
  {
  <...
- if (!bbio->csum)
+ if (!bbio->csum || bbio->inode)
  	return true;
  ...>
  }
