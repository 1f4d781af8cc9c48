"""historical: what never was is BROKEN; every older value is not its business."""

import pytest

from oracles import historical
from oracles.observation import Node, Run
from oracles.tests.made import Bench, also, kinds, node_at, replaced, roles, without

WRITTEN = "run\n  write foo 0 8K\n  write bar 0 8K\n  sync\n"


def test_a_name_that_never_was():
    """An unknown name, with an unknown object or a known one."""
    bench = Bench(WRITTEN)
    stranger = also(bench.tree(), "odd", Node("odd", "file", 9999, 0o644, 1, 0, 0))
    assert kinds(historical.judge(bench.case(stranger))) == {"name that never was"}
    known = also(bench.tree(), "odd", node_at(bench.tree(), "foo"))
    assert kinds(historical.judge(bench.case(known))) == {"name that never was"}


def test_an_object_that_its_name_never_led_to():
    """foo leads to bar's inode."""
    bench = Bench(WRITTEN)
    foo, bar = node_at(bench.tree(), "foo"), node_at(bench.tree(), "bar")
    swapped = replaced(bench.tree(), "foo", ino=bar.ino, content=bar.content)
    assert foo.ino != bar.ino
    assert kinds(historical.judge(bench.case(swapped))) == {"object never there"}


def test_names_of_operations_that_had_not_begun_never_were():
    """The future is no history."""
    bench = Bench("run\n  creat a\n  creat b\n")
    assert kinds(historical.judge(bench.case(bench.tree(2), begun=1))) == {"name that never was"}


def test_stale_data_of_another_file():
    """foo shows a cell that operation 1 wrote to bar."""
    bench = Bench(WRITTEN)
    runs = (Run(0, 4096, "w", 1), Run(4096, 4096, "w", 2))
    verdict = historical.judge(bench.case(replaced(bench.tree(), "foo", content=runs)))
    assert kinds(verdict) == {"stale data"}
    assert roles(verdict) == {"new file"}


def test_foreign_bytes():
    """Bytes that no operation wrote anywhere."""
    bench = Bench(WRITTEN)
    runs = (Run(0, 8, "x", 0, "de" * 8), Run(8, 8184, "w", 1))
    assert kinds(historical.judge(bench.case(replaced(bench.tree(), "foo", content=runs)))) == {
        "foreign bytes"
    }


def test_zeros_and_older_bytes_are_historical():
    """Zero is always allowed, and so is what was overwritten: durable judges those."""
    bench = Bench("run\n  write foo 0 8K\n  write foo 0 8K\n  sync\n")
    for run in (Run(0, 8192, "z"), Run(0, 8192, "w", 1)):
        assert not kinds(historical.judge(bench.case(replaced(bench.tree(), "foo", content=(run,)))))


def test_a_size_that_never_was():
    """Larger than it ever was; between two sizes only while an append grows it."""
    bench = Bench("setup\n  write foo 0 8K\nrun\n  truncate foo 4K\n  sync\n")
    larger = replaced(bench.tree(), "foo", size=9000, content=(Run(0, 8192, "w", 1), Run(8192, 808, "z")))
    assert kinds(historical.judge(bench.case(larger))) == {"size that never was"}
    grown = Bench("setup\n  write foo 0 4K\nrun\n  append foo 4K\n")
    between = replaced(grown.tree(), "foo", size=5000, content=(Run(0, 4096, "w", 1), Run(4096, 904, "w", 2)))
    assert not kinds(historical.judge(grown.case(between)))


def test_data_behind_the_largest_size_is_stale():
    """Only zeros may stand where the file never reached."""
    bench = Bench("run\n  write foo 0 4K\n  sync\n")
    runs = (Run(0, 4096, "w", 1), Run(4096, 8, "w", 1))
    verdict = historical.judge(bench.case(replaced(bench.tree(), "foo", size=4104, content=runs)))
    assert kinds(verdict) == {"size that never was", "stale data"}


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("trusted.one", {"xattr that never was"}),
        ("user.one", {"xattr that never was"}),
        ("trusted.SGI_ACL_FILE", set()),
        ("trusted.SGI_ACL_DEFAULT", set()),
        ("security.selinux", set()),
    ],
)
def test_an_attribute_that_the_kernel_keeps_for_itself_is_nobodys(name, answer):
    """XFS shows an access control list under its name on the disk, too. Any other attribute in a space that
    workloads use is theirs, or foreign."""
    bench = Bench("run\n  creat f\n  sync\n", "xfs")
    tree = replaced(bench.tree(), "f", xattrs={name: b"1".hex()})
    assert kinds(historical.judge(bench.case(tree))) == answer


def test_attributes_that_never_were():
    """Mode, owner, xattr value and symlink target."""
    bench = Bench("run\n  creat f\n  setxattr f user.x 1\n  symlink t s\n  sync\n")
    tree = replaced(bench.tree(), "f", mode=0o777, uid=1000, xattrs={"user.x": b"9".hex()})
    tree = replaced(tree, "s", target="u")
    assert kinds(historical.judge(bench.case(tree))) == {
        "mode that never was",
        "owner that never was",
        "xattr that never was",
        "target that never was",
    }


def test_xattrs_of_the_kernel_are_not_ours():
    """security.* and system.* come from elsewhere."""
    bench = Bench("run\n  creat f\n  sync\n")
    tree = replaced(bench.tree(), "f", xattrs={"security.selinux": "00"})
    assert not kinds(historical.judge(bench.case(tree)))


def test_lost_and_found_belongs_to_mkfs():
    """On ext4 only."""
    for name, expected in (("ext4", set()), ("xfs", {"name that never was"})):
        bench = Bench(WRITTEN, name)
        tree = also(bench.tree(), "lost+found", Node("lost+found", "dir", 11, 0o700, 2, 12288, 24))
        assert kinds(historical.judge(bench.case(tree))) == expected


def test_the_file_of_the_cleaner_belongs_to_mkfs():
    """On nilfs2 only."""
    for name, expected in (("nilfs2", set()), ("ext4", {"name that never was"})):
        bench = Bench(WRITTEN, name)
        tree = also(bench.tree(), ".nilfs", Node(".nilfs", "file", 11, 0o644, 1, 0, 0))
        assert kinds(historical.judge(bench.case(tree))) == expected


def test_a_name_that_leads_nowhere():
    """A directory entry whose object cannot be looked at."""
    bench = Bench(WRITTEN)
    dangling = Node("foo", "unknown", 0, 0, 0, 0, 0, dtype="file", errors=("stat: ENOENT",))
    tree = tuple(dangling if node.path == "foo" else node for node in bench.tree())
    assert kinds(historical.judge(bench.case(tree))) == {"name leads nowhere"}


CUT = "setup\n  write a 0 4K\n  creat b\nrun\n  truncate a 1500\n  creat marker\n  truncate a 4K\n  fsync b\n"
CAME_BACK = (Run(0, 2048, "w", 1), Run(2048, 2048, "z"))  # the rest of a block of 1 KiB


@pytest.mark.parametrize("name", ["ext4", "xfs"])
def test_what_a_truncate_cut_off_came_back(name):
    """marker is there, so the truncate before it is on disk; 1500 to 2048 are the old bytes."""
    bench = Bench(CUT, name)
    verdict = historical.judge(bench.case(replaced(bench.tree(), "a", content=CAME_BACK)))
    assert kinds(verdict) == {"cut data came back"}
    assert "at offset 1500: zeros, since truncate a 1500" in verdict.violations[0].expected


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs"])
def test_a_truncate_that_nothing_shows_may_not_have_happened(name):
    """Without marker the file may be as it was before; and btrfs promises nothing of the kind."""
    bench = Bench(CUT, name)
    tree = replaced(bench.tree(), "a", content=CAME_BACK)
    assert not kinds(historical.judge(bench.case(without(tree, "marker"))))
    if name == "btrfs":
        assert not kinds(historical.judge(bench.case(tree)))


@pytest.mark.parametrize(("name", "expected"), [("ext4", {"cut data came back"}), ("xfs", set())])
def test_where_a_write_makes_a_cut_file_longer_xfs_may_show_the_old_bytes(name, expected):
    """It puts the zeroed rest of the block on disk with the data, and not before the size."""
    bench = Bench(CUT.replace("truncate a 4K", "write a 4K 4K"), name)
    content = (*CAME_BACK, Run(4096, 4096, "w", 5))
    assert kinds(historical.judge(bench.case(replaced(bench.tree(), "a", content=content)))) == expected


CLONED = "setup\n  write a 0 4K\n  write b 0 4K\nrun\n  truncate a 1500\n  clone b a 0 4K 8K\n  sync\n"


@pytest.mark.parametrize(("name", "expected"), [("xfs", {"cut data came back"}), ("btrfs", set())])
def test_a_size_that_only_a_clone_gave_shows_that_the_truncate_happened(name, expected):
    """No name changed. xfs puts the zeroed rest of the block on disk before the new size."""
    bench = Bench(CLONED, name)
    whole = bench.tree()
    cells = next(node.content for node in whole if node.path == "a")
    content = (*CAME_BACK, Run(4096, 4096, "z"), *(run for run in cells if run.offset >= 8192))
    assert not kinds(historical.judge(bench.case(whole, flying=True)))
    seen = historical.judge(bench.case(replaced(whole, "a", content=content), flying=True))
    assert kinds(seen) == expected


def test_a_size_that_there_was_before_shows_nothing_of_a_truncate():
    """The file may be as it was when all was synced."""
    bench = Bench(CUT.replace("  creat marker\n", ""), "xfs")
    assert not kinds(historical.judge(bench.case(replaced(bench.tree(), "a", content=CAME_BACK))))


def test_what_was_written_again_where_a_truncate_cut_is_no_news():
    """Bytes of a later append where the old ones were."""
    bench = Bench(CUT.replace("truncate a 4K", "append a 2596"), "ext4")
    assert not kinds(historical.judge(bench.case(bench.tree())))


def test_data_writeback_allows_old_bytes_and_nothing_else():
    """ext4(5), data=writeback: old data may appear in files; a size or a mode that never was may not."""
    text = "run\n  write foo 0 4K\n  fsync foo\n"
    for name, expected in (("ext4", {"foreign bytes"}), ("ext4-writeback", set())):
        bench = Bench(text, name)
        stale = Run(0, 4096, "x", 0, "c3" * 4096)
        tree = replaced(bench.tree(), "foo", content=(stale,))
        assert kinds(historical.judge(bench.case(tree, begun=1, flying=True))) == expected
        long = replaced(bench.tree(), "foo", size=9000)
        assert kinds(historical.judge(bench.case(long))) == {"size that never was"}
