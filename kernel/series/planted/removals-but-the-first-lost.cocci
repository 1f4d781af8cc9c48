// Of names removed one after the other only the first stays removed
//
// re-creates: a class: the range in which a directory's log speaks for its entries ends too early. The ranges
//             are those of 30b80f3ce0f9 ("btrfs: use delayed items when logging a directory") (in v6.1);
//             750ee454908e ("btrfs: fix assertion failure when logging directory key range item") keeps them
//             from shrinking.
// caught by:  durable
// workloads:  unlink-neighbours-fsync-directory
// profiles:   btrfs
// files: fs/btrfs/tree-log.c
// absent:     5.10 (an fsync logs delayed items only since v6.1)
//
// What is changed. An fsync of a directory logs a run of removed entries as one range item, from the first
// index to the last. The item now ends where it begins.
//
// Why it loses data. Replay removes from the directory what lies in a range and is not in the log. The names
// after the first are in no range, so they are back, although the directory was fsynced.
//
// Why it is silent otherwise. The files never lost their entries in the tree that the log is replayed into,
// so all agrees: nothing warns, fsck is content. A single removal, or removals of names that were not made
// one after the other, come out right.
//
// Seen with: sync with A/two and A/three made one after the other, `unlink` of both, `fsync A`.

@@
identifier function = {log_delayed_deletions_full, log_delayed_deletions_incremental};
expression trans, log, path, ino;
@@
function(...)
{
<...
- insert_dir_log_key(trans, log, path, ino, first_dir_index, last_dir_index)
+ insert_dir_log_key(trans, log, path, ino, first_dir_index, first_dir_index)
...>
}
