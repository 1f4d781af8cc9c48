"""An atomic write that is there in part, and what only looks like one."""

import pytest

from oracles import atomic, durable
from oracles.observation import Run
from oracles.tests.made import Bench, kinds, replaced

OVER = "setup\n  write foo 0 16K\nrun\n  atomicwrite foo 0 16K"
BEHIND = "setup\n  write foo 0 8K\nrun\n  atomicwrite foo 8K 8K"


def shown(source: str, *runs: Run, name: str = "xfs", flying: bool = True):
    """What the oracle atomic says when foo comes back with these runs."""
    bench = Bench(source, name)
    end = runs[-1].offset + runs[-1].length
    tree = replaced(bench.tree(), "foo", size=end, content=runs)
    return kinds(atomic.judge(bench.case(tree, flying=flying)))


@pytest.mark.parametrize("name", ["xfs", "f2fs"])
@pytest.mark.parametrize("flying", [True, False])
def test_one_page_of_an_atomic_write_is_broken(name, flying):
    """The first, or the last, whether the call had returned or not."""
    first = Run(0, 4096, "w", 2), Run(4096, 12288, "w", 1)
    last = Run(0, 12288, "w", 1), Run(12288, 4096, "w", 2)
    for runs in (first, last):
        assert shown(OVER, *runs, name=name, flying=flying) == {"torn write"}


def test_all_of_it_or_nothing_is_in_order():
    """Before, and after; zeros in a part of it are what a hole would show."""
    assert not shown(OVER, Run(0, 16384, "w", 1))
    assert not shown(OVER, Run(0, 16384, "w", 2))
    assert shown(OVER, Run(0, 8192, "w", 2), Run(8192, 8192, "z")) == {"torn write"}


def test_a_write_that_is_not_atomic_may_be_torn():
    """The same bytes by pwrite."""
    assert not shown("setup\n  write foo 0 16K\nrun\n  pwrite foo 0 16K direct", *half(1, 2))


def half(first: int, second: int) -> tuple[Run, Run]:
    return Run(0, 8192, "w", first), Run(8192, 8192, "w", second)


def test_a_later_write_over_a_part_of_it_hides_that_part():
    """What lies under it nobody sees; beside it all must be there once the later bytes are not the reason."""
    later = OVER + "\n  write foo 0 8K"
    assert not shown(later, *half(3, 2))
    assert not shown(later, *half(2, 2))
    assert not shown(later, *half(1, 1))
    assert shown(later, *half(2, 1)) == {"torn write"}


def test_bytes_of_before_and_of_a_later_write_need_not_agree():
    """The later one may be on disk while the page behind it is as it was: not the atomic write's doing, but
    that one is missing then, which is for durable to say where it was promised."""
    later = "\n  write foo 0 8K"
    assert not shown(OVER + later, *half(3, 1))
    bench = Bench(f"{OVER} dsync{later}", "xfs")
    tree = replaced(bench.tree(), "foo", content=half(3, 1))
    assert kinds(durable.judge(bench.case(tree, flying=True))) == {"data lost"}


def test_a_longer_file_gets_all_of_it_or_keeps_its_size():
    """A size in the middle of the write, with its bytes, is a part of it."""
    old = Run(0, 8192, "w", 1)
    assert not shown(BEHIND, old)
    assert not shown(BEHIND, old, Run(8192, 8192, "w", 2))
    assert shown(BEHIND, old, Run(8192, 4096, "w", 2)) == {"torn write"}
    assert not shown(BEHIND + "\n  truncate foo 12K", old, Run(8192, 4096, "w", 2))


def test_with_dsync_it_is_durable():
    """And without it is not."""
    for how, expected in ((" dsync", {"data lost"}), ("", set())):
        bench = Bench(OVER + how, "xfs")
        tree = replaced(bench.tree(), "foo", content=(Run(0, 16384, "w", 1),))
        assert kinds(durable.judge(bench.case(tree))) == expected


def test_on_f2fs_a_commit_keeps_the_order_alone():
    """It writes the nodes and does not wait for them; an fsync does."""
    for then, expected in (("", set()), ("\n  fsync foo", {"data lost"})):
        bench = Bench(OVER + " dsync" + then, "f2fs")
        tree = replaced(bench.tree(), "foo", content=(Run(0, 16384, "w", 1),))
        assert kinds(durable.judge(bench.case(tree))) == expected


def test_defragment_changes_no_byte():
    """What was synced is promised as before, and what was not is not."""
    bench = Bench("setup\n  write foo 0 16K\nrun\n  defragment foo\n", "ext4")
    lost = replaced(bench.tree(), "foo", content=(Run(0, 16384, "z"),))
    assert kinds(durable.judge(bench.case(lost))) == {"data lost"}
    assert not kinds(durable.judge(bench.case(bench.tree())))
    bench = Bench("setup\n  write foo 0 16K\nrun\n  defragment foo\n", "ext4-writeback")
    assert not kinds(durable.judge(bench.case(lost)))
