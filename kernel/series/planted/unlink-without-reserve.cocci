// btrfs: unlink and rmdir no longer fall back on the global reserve
//
// re-creates: the class of fstests generic/102, in which what was filled has to be emptied, again and again.
// caught by:  usable
// profiles: btrfs-nearly-full
// workloads: removals-when-full renames-when-full
// files: fs/btrfs/inode.c
//
// What is changed. A transaction for an unlink that finds no room takes it from what is set aside for the trees
// themselves (btrfs_start_transaction_fallback_global_rsv()). Now it fails like any other.
//
// Why it is wrong. To remove a name costs metadata before it gives any back. With none left nothing can be
// deleted any more, so there will never be room again.
//
// Why it is silent otherwise. As long as there is room for one more item the reserve is not touched.
//
// Seen with: a filesystem filled to the last block, data and metadata in the same block groups.

@@
expression root, units;
@@
- btrfs_start_transaction_fallback_global_rsv(root, units)
+ btrfs_start_transaction(root, units)
