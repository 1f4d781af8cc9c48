// ext4's replay of a fast commit frees a directory that was removed
//
// profiles:   ext4-fast-commit
// workloads:  rmdir-recreate-fsync snapshot-deleted-fsync-file-below
// absent:     5.10 (its fast commits leave new directories out, so none takes the place of a removed one)
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-4 (docs/findings/EXT4-4.md).
//
// What is changed. Replay took one link from a directory as from a file. A directory has two, so its inode and its
// block stayed, and a new directory with that inode number met them. Now it has none left and is freed.
//
// How it was checked. With it the workloads above keep the promises that EXT4-4 breaks, on 6.12.

@@
identifier inode, old_parent, entry;
expression ret;
@@
  ext4_fc_replay_unlink(...)
  {
  ...
  ret = __ext4_unlink(old_parent, &entry, inode, NULL);
+ if (!ret && S_ISDIR(inode->i_mode))
+ 	clear_nlink(inode);
  ...
  }
