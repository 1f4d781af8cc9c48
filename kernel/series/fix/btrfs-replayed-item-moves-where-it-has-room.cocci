// Replay of btrfs' log makes room before it makes an item larger
//
// profiles:   btrfs
// workloads:  item-of-names-outgrows-its-leaf
// absent:     5.10, 6.1 (whether the bug shows there was not tried)
// files: fs/btrfs/tree-log.c
//
// A fix of our own for what FINDINGS.md tells ("Replay makes an item larger than its leaf has room for, and the kernel dies").
//
// What is changed. overwrite_item() asks for room for a new item beside the old one. Where no leaf can have both the answer is
// EOVERFLOW, no room was made, and the old item is made larger all the same. Now it is deleted and inserted anew, if its leaf
// has not the room.
//
// How it was checked. With it the workload keeps every promise on 6.12 and 7.2.

@@
identifier path, item_size, found_size, key;
@@
overwrite_item(..., struct btrfs_path *path, ..., struct btrfs_key *key)
{
<...
- btrfs_extend_item(trans, path, item_size - found_size);
+ {
+ 	if (btrfs_leaf_free_space(path->nodes[0]) >= item_size - found_size) {
+ 		btrfs_extend_item(trans, path, item_size - found_size);
+ 	} else {
+ 		ret = btrfs_del_item(trans, root, path);
+ 		btrfs_release_path(path);
+ 		if (!ret)
+ 			ret = btrfs_insert_empty_item(trans, root, path, key, item_size);
+ 		if (ret)
+ 			return ret;
+ 	}
+ }
...>
}

@@
identifier wc, item_size, found_size;
@@
overwrite_item(struct walk_control *wc)
{
<...
- btrfs_extend_item(trans, wc->subvol_path, item_size - found_size);
+ {
+ 	if (btrfs_leaf_free_space(dst_eb) >= item_size - found_size) {
+ 		btrfs_extend_item(trans, wc->subvol_path, item_size - found_size);
+ 	} else {
+ 		ret = btrfs_del_item(trans, root, wc->subvol_path);
+ 		btrfs_release_path(wc->subvol_path);
+ 		if (!ret)
+ 			ret = btrfs_insert_empty_item(trans, root, wc->subvol_path, &wc->log_key, item_size);
+ 		if (ret)
+ 			return ret;
+ 		dst_eb = wc->subvol_path->nodes[0];
+ 		dst_slot = wc->subvol_path->slots[0];
+ 	}
+ }
...>
}
