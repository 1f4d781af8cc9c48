// The debug checks of an XFS directory's leaf and node blocks compare the hash values of all entries again
//
// upstream: 1fea323ff005 ("xfs: reduce debug overhead of dir leaf/node checks") (in v5.13)
// absent: 5.10 (it compares them still)
// profiles: xfs
// config: xfs-debug
// files: fs/xfs/libxfs/xfs_dir2_leaf.c fs/xfs/libxfs/xfs_dir2_node.c
//
// What is taken out. A kernel with CONFIG_XFS_DEBUG checks the leaf block at every change of a directory.
// xfs_dir3_leaf_check_int() compares the hash values of neighbouring entries only when it is told to, and
// the debug callers do not tell it; the verifiers of what is read and written do. The debug callers tell it,
// too. Without CONFIG_XFS_DEBUG there is no such caller, and the change does nothing.
//
// How it was checked. Counted lines of a gcov kernel: the loop of xfs_dir3_leaf_check_int() over the entries
// (harness/suite/test_before.py). The library of workloads finds nothing that it does not find on the
// kernel without the change.

@@
identifier check =~ "^xfs_dir3_leaf[1n]_check$";
expression mount, header, leaf;
symbol true, false;
@@
check(...)
{
<...
 xfs_dir3_leaf_check_int(mount, header, leaf,
- false
+ true
 )
...>
}
