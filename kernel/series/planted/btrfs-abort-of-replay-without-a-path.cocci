// Replay dies where a leaf of the log tree cannot be read
//
// re-creates: 530e3d4af566 ("btrfs: fix NULL pointer dereference in do_abort_log_replay()"), by Suchit Karunakaran,
//             which is taken out.
// caught by:  alive
// profiles:   btrfs-single
// absent:     5.10 6.1 6.12 (there replay has no such report)
// damage:     failing
// workloads:  attributes-of-several-log-leaves
// files: fs/btrfs/tree-log.c
//
// What is changed. The report of a failed replay looks into the path of the subvolume without asking whether there is one.
//
// Why it breaks. replay_one_buffer() reads a leaf of the log tree before it has a path. When that read fails, the pointer
// is NULL, and the kernel dies instead of refusing the mount.
//
// Why it is silent otherwise. It takes a block of the log tree that cannot be read, and one that is not the root: that one
// is read before.

@@
identifier f = do_abort_log_replay;
struct walk_control *wc;
@@
  f(...) {
  <...
- wc->subvol_path && wc->subvol_path->nodes[0]
+ wc->subvol_path->nodes[0]
  ...>
  }
