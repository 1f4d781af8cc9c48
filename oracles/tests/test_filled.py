"""A size on disk has its data: judged by historical, on the filesystems that promise it."""

import pytest

from oracles import historical
from oracles.observation import Run
from oracles.tests.made import Bench, kinds, replaced

NEW = "run\n  write foo 0 64K\n  creat bar\n"
LOST = {"size without data"}
ZEROS = (Run(0, 1 << 16, "z"),)


def judged(text, name, size, content, **cut):
    bench = Bench(text, name)
    return kinds(
        historical.judge(bench.case(replaced(bench.tree(), "foo", size=size, content=content), **cut))
    )


@pytest.mark.parametrize("name", ["btrfs", "ext4-data-journal", "xfs"])
def test_a_new_file_with_a_size_and_no_data(name):
    """fstests generic/043: part of the size or all of it; the promise is named."""
    assert judged(NEW, name, 1 << 16, ZEROS) == LOST
    assert judged(NEW, name, 8192, (Run(0, 8192, "z"),)) == LOST
    bench = Bench(NEW, name)
    verdict = historical.judge(bench.case(replaced(bench.tree(), "foo", content=ZEROS)))
    assert "fstests generic/043" in verdict.violations[0].promise
    assert "because the size is that of write foo 0 64K" in verdict.violations[0].expected


@pytest.mark.parametrize("name", ["ext4", "ext4-fast-commit", "ext4-writeback", "f2fs"])
def test_where_nobody_promises_it(name):
    """ext4 makes unwritten extents, for which no transaction waits; f2fs has the size at once."""
    assert judged(NEW, name, 1 << 16, ZEROS) == set()


@pytest.mark.parametrize("name", ["btrfs", "ext4-data-journal", "xfs"])
def test_a_file_without_size_or_with_its_data(name):
    """Nothing written yet, a part of it, all of it."""
    assert judged(NEW, name, 0, ()) == set()
    assert judged(NEW, name, 8192, (Run(0, 8192, "w", 1),)) == set()
    assert judged(NEW, name, 1 << 16, (Run(0, 1 << 16, "w", 1),)) == set()


def test_what_lies_before_the_end_may_come_later():
    """xfs and ext4: the end is there, an earlier write is not. btrfs: the end is not, an earlier write is."""
    text = "run\n  write foo 0 4K\n  append foo 4K\n"
    late, early = (Run(0, 4096, "z"), Run(4096, 4096, "w", 2)), (Run(0, 4096, "w", 1), Run(4096, 4096, "z"))
    for name in ("xfs", "ext4-data-journal", "btrfs"):
        assert judged(text, name, 8192, late) == set()
        assert judged(text, name, 8192, early) == (set() if name == "btrfs" else LOST)
        assert judged(text, name, 8192, (Run(0, 8192, "z"),)) == LOST


def test_a_size_that_was_durable_before():
    """The write may be in place, into what was a hole: the size says nothing of it."""
    text = "setup\n  write foo 0 4K\n  truncate foo 64K\nrun\n  write foo 32K 32K\n"
    for name in ("btrfs", "ext4-data-journal", "xfs"):
        assert judged(text, name, 1 << 16, (Run(0, 4096, "w", 1), Run(4096, 61440, "z"))) == set()


def test_the_last_page_and_reserved_blocks_are_no_exception():
    """An append within the last page; a write into what fallocate reserved behind the end."""
    text = "setup\n  write foo 0 1000\nrun\n  append foo 1000\n"
    content = (Run(0, 1000, "w", 1), Run(1000, 1000, "z"))
    reserved = "setup\n  creat foo\n  fallocate foo keep-size 0 64K\nrun\n  write foo 0 64K\n"
    for name in ("ext4-data-journal", "xfs"):
        assert judged(text, name, 2000, content) == LOST
        assert judged(reserved, name, 1 << 16, ZEROS) == LOST


@pytest.mark.parametrize(
    ("size", "written"),
    [("64K", 1 << 16), ("32K", 1 << 15), ("128K", 1 << 16)],
    ids=["generic/044", "generic/045", "generic/046"],
)
def test_a_truncate_after_the_write(size, written):
    """The same size, less, more: xfs writes the data first; others set the size at once."""
    new = {"64K": 1 << 16, "32K": 1 << 15, "128K": 1 << 17}[size]
    text = f"run\n  write foo 0 64K\n  truncate foo {size}\n"
    assert judged(text, "xfs", new, (Run(0, new, "z"),)) == LOST
    there = (Run(0, written, "w", 1), *((Run(written, new - written, "z"),) if new > written else ()))
    for name in ("btrfs", "ext4-data-journal", "xfs"):
        assert judged(text, name, new, there) == set()
    if size != "64K":  # which the write has set
        assert judged(text, "ext4-data-journal", new, (Run(0, new, "z"),)) == set()
    assert judged(text, "btrfs", new, (Run(0, new, "z"),)) == set()


def test_a_hole_that_a_call_left_is_no_missing_data():
    """A truncate to more, then a write behind it; a hole that is punched at the end."""
    gap = "run\n  creat foo\n  truncate foo 32K\n  write foo 60K 4K\n"
    assert judged(gap, "xfs", 1 << 15, (Run(0, 1 << 15, "z"),)) == set()
    assert judged(gap, "xfs", 1 << 16, (Run(0, 61440, "z"), Run(61440, 4096, "w", 3))) == set()
    assert judged(gap, "xfs", 1 << 16, ZEROS) == LOST
    punched = "run\n  write foo 0 64K\n  fallocate foo punch-hole 0 64K\n"
    assert judged(punched, "xfs", 1 << 16, ZEROS) == set()


def test_parts_that_were_written_out_by_themselves():
    """xfs: a truncate writes what is behind the size on disk, and that may be behind some data."""
    text = "run\n  write foo 0 64K\n  sync_file_range foo 60K 4K\n  truncate foo 128K\n"
    content = (Run(0, 61440, "z"), Run(61440, 4096, "w", 1), Run(65536, 65536, "z"))
    assert judged(text, "xfs", 1 << 17, content) == set()
    assert judged(text.replace("  sync_file_range foo 60K 4K\n", ""), "xfs", 1 << 17, content) == LOST
