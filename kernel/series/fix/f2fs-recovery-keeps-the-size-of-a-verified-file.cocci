// f2fs' recovery leaves the size of a verified file as the inode has it
//
// profiles:   f2fs-verity
// config:     f2fs, verity
// workloads:  verified-file-with-two-levels
// absent:     5.10, 6.1 (whether the bug shows there was not tried)
// files: fs/f2fs/recovery.c
//
// A fix of our own for what FINDINGS.md tells ("Recovery takes the hashes of a verified file for a part of it").
//
// What is changed. do_recover_data() makes a file larger where a block lies behind its end, if the file does not say that
// it has such blocks (FADVISE_KEEP_SIZE). It asks now whether the file is verified, too: the tree of hashes lies behind
// the end of each such file.
//
// How it was checked. With it the workloads of the theme verity keep every promise on 6.12 and 7.2.

@@
struct inode *inode;
@@
- file_keep_isize(inode)
+ (file_keep_isize(inode) || file_is_verity(inode))
