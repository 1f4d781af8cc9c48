// The replay of ext4's fast commits marks the blocks of the first four inodes alone as used
//
// re-creates: the class of bdc8a53a6f2f ("ext4: fast commit may miss file actions") (in v5.17): of several files some are
//             forgotten. Replay keeps the inodes that it changed in an array that grows by four.
// caught by:  durable, mounts, quiet
// profiles:   ext4-fast-commit
// workloads:  many-files-made-then-one-fsynced
// files: fs/ext4/fast_commit.c
//
// What is changed. When the array is full, the inode is left out.
//
// Why it loses data. Replay frees the blocks of every inode that it replays, and marks those of the inodes in the array as
// used again. The others' are free, and go to others.
//
// Why it is silent otherwise. It takes a fast commit of five files, and a crash after it.

@@
expression state;
@@
ext4_fc_record_modified_inode(...)
{
<...
  if (state->fc_modified_inodes_used == state->fc_modified_inodes_size) {
+ 	if (state->fc_modified_inodes_used)
+ 		return 0;
  	...
  }
...>
}
