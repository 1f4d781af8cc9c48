// ext4's replay of a fast commit leaves out a file that has no name
//
// profiles:   ext4-fast-commit
// workloads:  unlinked-open-file-fsync unlinked-synced-open-file-fsync tmpfile-fsynced-then-linked
// files: fs/ext4/fast_commit.c
//
// A fix of our own for EXT4-2 (docs/findings/EXT4-2.md).
//
// What is changed. Nobody can open such a file after a power failure. Replay wrote its inode and could not read it
// back, so that the mount was refused. Now replay passes over the inode, and over the creation of the name that it
// had once; the removal of that name then has nothing to remove.
//
// How it was checked. With it the workloads above keep the promises that EXT4-2 breaks, on 6.12.

@@
identifier inode, sb, ino;
symbol raw_fc_inode, val;
@@
  ext4_fc_replay_inode(...)
  {
  ...
+ raw_fc_inode = (struct ext4_inode *)
+ 	(val + offsetof(struct ext4_fc_inode, fc_raw_inode));
+ if (!raw_fc_inode->i_links_count)
+ 	return 0;
  inode = ext4_iget(sb, ino, EXT4_IGET_NORMAL);
  if (!IS_ERR(inode)) {
  	ext4_ext_clear_bb(inode);
  	...
  }
  ...
  }

@@
identifier darg;
expression sb;
symbol inode;
@@
  ext4_fc_replay_create(...)
  {
  ...
+ inode = ext4_iget(sb, darg.ino, EXT4_IGET_NORMAL);
+ if (IS_ERR(inode) && PTR_ERR(inode) == -ESTALE)
+ 	return 0;
+ if (!IS_ERR(inode))
+ 	iput(inode);
+ inode = NULL;
  ret = ext4_mark_inode_used(sb, darg.ino);
  ...
  }
