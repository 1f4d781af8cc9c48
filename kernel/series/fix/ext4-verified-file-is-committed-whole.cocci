// ext4 does not fast-commit the flag of a verified file
//
// profiles:   ext4-verity-fast-commit
// config:     verity
// workloads:  verified-file-with-holes
// absent:     5.10, 6.1 (whether the bug shows there was not tried)
// absent:     7.2 (upstream 16d43b9748c6 is in it)
// files: fs/ext4/verity.c
//
// A fix of our own for EXT4-27 (docs/findings/EXT4-27.md), after the one that 7.0 has.
//
// What is changed. The transaction that sets the flag is no fast commit, which would have the flag without the last blocks
// of hashes. The reason that it names is another one than in 7.2, for 6.12 has none of its own.
//
// How it was checked. With it, and the fix of EXT4-9 beside it, the theme verity keeps every promise on 6.12.

@@
@@
+ ext4_fc_mark_ineligible(inode->i_sb, EXT4_FC_REASON_FALLOC_RANGE, handle);
  err = ext4_orphan_del(handle, inode);
  if (err)
  	goto stop_and_cleanup;
