// f2fs' recovery leaves the number of a recovered inode among the free ones
//
// re-creates: no commit; remove_free_nid() of f2fs_recover_inode_page(), left out.
// caught by:  usable
// profiles:   f2fs
// config:     f2fs
// workloads:  fsync-after-sync
// files: fs/f2fs/node.c
//
// What is changed. Recovery of a file that was made after the checkpoint takes its number off the list of free ones, which
// was read from the checkpoint. It is left there.
//
// Why it breaks the filesystem. The next file that is made gets the same number: making it fails as long as the recovered
// one is in the cache, and overwrites it when it is not.
//
// Why it is silent otherwise. The next mount reads the list from the checkpoint that ended the recovery.
//
// Seen with: a new file, fsync, and after recovery another new file in the same mount.

@@
identifier sbi, ino;
@@
f2fs_recover_inode_page(...)
{
<...
- remove_free_nid(sbi, ino);
...>
}
