// A truncate on xfs that makes a file longer does not write the zeroed rest of its last block
//
// re-creates: 5885ebda878b ("xfs: ensure truncate forces zeroed blocks to disk") (in v4.0), which this takes out again.
// caught by:  historical
// profiles:   xfs
// workloads:  truncated-tail-then-grown
// files: fs/xfs/xfs_iops.c
//
// What is changed. A truncate zeroes the rest of the old last block in memory and writes it before it logs the larger size.
// It no longer writes it.
//
// Why it loses data. The next log force puts the size on disk. After a power failure the file shows behind its old end what
// an earlier truncate had cut off.
//
// Why it is silent otherwise. In memory there are zeros, and they are written later, as after any write. What was fsynced
// is not concerned, and the file is consistent.
//
// Seen with: truncate to less within a block, truncate to more, fsync of the directory.

@@
expression size;
@@
- if (did_zeroing || size) {
+ if (size) {
  ...
  }
