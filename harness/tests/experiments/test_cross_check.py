"""Two disks held against each other: what a log explains, and what nothing does."""

import pytest

from harness.experiments.cross_check import (
    DroppedWalk,
    differing_blocks,
    field_difference,
    tree_difference,
    unexplained_blocks,
)
from harness.states.disk import BLOCK_BYTES, DiskWrite, open_disk
from harness.states.log import Entry, open_log, write_log
from oracles.observation import Node, Observation
from workloads.entries import EntryFlag

FLUSH, MARK = EntryFlag.FLUSH, EntryFlag.MARK
A, B = b"a" * BLOCK_BYTES, b"b" * BLOCK_BYTES
CUT_NS = 1000
ROOT = Node(".", "dir", 256, 0o755, 1, 0, 0)


@pytest.fixture
def disks(tmp_path):
    """Ours and theirs, of 16 blocks, each with A in block 1."""
    zeros = tmp_path / "zeros"
    zeros.write_bytes(bytes(16 * BLOCK_BYTES))
    with open_disk(tmp_path / "ours", zeros) as ours, open_disk(tmp_path / "theirs", zeros) as theirs:
        for disk in (ours, theirs):
            disk.apply(DiskWrite(BLOCK_BYTES, BLOCK_BYTES, A))
        yield ours, theirs


def unexplained(tmp_path, disks, behind):
    """behind: entries after the mark "cut"."""
    write_log(tmp_path / "log", [Entry(0, 0, MARK, mark="cut"), Entry(0, 0, MARK, mark="dropped"), *behind])
    ours, theirs = disks
    with open_log(tmp_path / "log") as log:
        return unexplained_blocks(ours, theirs, log, 0, differing_blocks(ours, theirs))


def test_equal_disks_need_no_explanation(tmp_path, disks):
    assert differing_blocks(*disks) == []
    assert unexplained(tmp_path, disks, []) == []


def test_what_had_reached_the_disk_without_a_flush_stands_behind_the_mark(tmp_path, disks):
    disks[1].apply(DiskWrite(2 * BLOCK_BYTES, BLOCK_BYTES, B))
    assert differing_blocks(*disks) == [2]
    assert unexplained(tmp_path, disks, [Entry(16, 8, 0, B), Entry(0, 0, FLUSH)]) == []


def test_other_bytes_than_were_written_are_a_disagreement(tmp_path, disks):
    disks[1].apply(DiskWrite(2 * BLOCK_BYTES, BLOCK_BYTES, B))
    assert unexplained(tmp_path, disks, [Entry(16, 8, 0, A)]) == [2]
    assert unexplained(tmp_path, disks, [Entry(24, 8, 0, B)]) == [2]


def test_a_write_behind_the_next_flush_explains_nothing(tmp_path, disks):
    """By then the device drops what it is given."""
    disks[1].apply(DiskWrite(2 * BLOCK_BYTES, BLOCK_BYTES, B))
    assert unexplained(tmp_path, disks, [Entry(0, 0, FLUSH), Entry(16, 8, 0, B)]) == [2]


def test_a_write_that_our_log_has_and_the_disk_has_not_is_a_disagreement(tmp_path, disks):
    """As dm-log-writes made one: a write of the unmount, logged before it was done."""
    disks[0].apply(DiskWrite(2 * BLOCK_BYTES, BLOCK_BYTES, B))
    assert unexplained(tmp_path, disks, []) == [2]


def test_trees_are_compared_field_by_field():
    other = Node(".", "dir", 256, 0o700, 1, 0, 0)
    assert field_difference(ROOT, other) == "mode 493 with model O, 448 with dm-flakey"
    assert difference(ROOT, ROOT) == ""
    assert "mode" in difference(ROOT, other)
    assert "only with model O" in tree_difference(Observation(tree=(ROOT,)), DroppedWalk(0, (), ()), CUT_NS)
    assert "5 with dm-flakey" in tree_difference(Observation(tree=(ROOT,)), DroppedWalk(5, ()), CUT_NS)
    assert "recovery of the disk of model O" in tree_difference(
        Observation(death="panic"), DroppedWalk(0, ()), CUT_NS
    )


def difference(ours, theirs):
    return tree_difference(Observation(tree=(ours,)), DroppedWalk(0, (), (theirs,)), CUT_NS)


def file(mtime, ctime):
    return Node("foo", "file", 257, 0o644, 1, 0, 0, times=(mtime, ctime))


def test_times_that_recovery_itself_gives_are_not_held_against_each_other():
    """It was done twice, after the cut; what was before is compared."""
    assert difference(file(1, CUT_NS), file(1, CUT_NS + 5)) == ""
    assert "times" in difference(file(1, CUT_NS), file(2, CUT_NS))
    assert "times" in difference(file(1, CUT_NS - 1), file(1, CUT_NS))
