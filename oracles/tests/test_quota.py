"""oracles/consistent.py: what users and groups have, against the tree."""

import errno
from collections import Counter

import pytest

from oracles import consistent
from oracles.observation import Quota, Tree
from oracles.tests.made import Bench, kinds, replaced

TEXT = (
    "setup\n  write foo 0 64K\n  creat bar\n  chown bar 1000:7\n"
    "run\n  mkdir A\n  write bar 0 4K\n  link foo A/foo\n  sync\n"
)
PROFILES = ("ext4-quota", "xfs-quota", "f2fs-quota")


def counted(tree: Tree, unseen: int) -> tuple[Quota, ...]:
    inodes: Counter[tuple[int, int]] = Counter({(0, 0): unseen, (1, 0): unseen})
    space: Counter[tuple[int, int]] = Counter()
    for node in {node.ino: node for node in tree}.values():
        for owner in ((0, node.uid), (1, node.gid)):
            inodes[owner] += 1
            space[owner] += node.blocks * 512
    return tuple(Quota(*owner, space[owner], inodes[owner]) for owner in inodes)


@pytest.mark.parametrize("name", PROFILES)
def test_quota_is_what_the_tree_has(name):
    """A file with two names counts once; an owner of nothing need not be listed. One inode or block too few,
    or an owner too many, is told; not beside what is wrong with the tree itself."""
    bench = Bench(TEXT, name)
    tree = bench.tree()
    quota = counted(tree, 2 if name.startswith("xfs") else 0)
    assert not kinds(consistent.judge(bench.case(tree, quota=quota)))
    assert not kinds(consistent.judge(bench.case(tree)))
    assert not kinds(consistent.judge(bench.case(tree, quota=(*quota, Quota(0, 42, 0, 0)))))
    first = quota[0]
    for wrong in (
        (Quota(first.kind, first.number, first.space_bytes, first.inodes - 1), *quota[1:]),
        (Quota(first.kind, first.number, first.space_bytes + 4096, first.inodes), *quota[1:]),
        (*quota, Quota(1, 42, 4096, 1)),
        quota[1:],
    ):
        assert kinds(consistent.judge(bench.case(tree, quota=wrong))) == {"quota differs"}
    unread = replaced(tree, "bar", errors=("open: EIO",))
    assert kinds(consistent.judge(bench.case(unread, quota=quota[1:]))) == {"open failed"}


def test_quota_that_cannot_be_asked_is_told():
    """It is switched on by the mount."""
    bench = Bench(TEXT, "f2fs-quota")
    verdict = consistent.judge(bench.case(bench.tree(), quota=(Quota(0, -1, errno.ESRCH, 0),)))
    assert kinds(verdict) == {"quota off"}


def test_what_is_inside_an_inode_of_f2fs_is_not_counted():
    """stat(2) counts it: fs/f2fs/file.c f2fs_getattr()."""
    bench = Bench("run\n  write foo 0 100\n  sync\n", "f2fs-quota")
    tree = replaced(bench.tree(), "foo", blocks=1)
    root = next(node.blocks for node in tree if node.path == ".") * 512
    good = (Quota(0, 0, root, 2), Quota(1, 0, root, 2))
    assert not kinds(consistent.judge(bench.case(tree, quota=good)))
    counted_too = (Quota(0, 0, root + 512, 2), good[1])
    assert kinds(consistent.judge(bench.case(tree, quota=counted_too))) == {"quota differs"}
