"""A file that becomes verified: what its fsync keeps, and what a crash may not leave of it."""

import pytest

from oracles import consistent, durable, historical, usable
from oracles.observation import Run
from oracles.tests.made import Bench, kinds, replaced

ALONE = "setup\n  write foo 0 16K\nrun\n  verity foo"
FSYNCED = ALONE + "\n  fsync foo"
PROFILES = ("btrfs-verity", "ext4-verity", "ext4-verity-fast-commit", "f2fs-verity")


def shown(source, name="btrfs-verity", flying=False, **changes):
    """What the oracles say when foo comes back changed so."""
    bench = Bench(source, name)
    case = bench.case(replaced(bench.tree(), "foo", **changes), flying=flying)
    verdicts = [oracle.judge(case) for oracle in (durable, historical, consistent, usable)]
    return set().union(*(kinds(verdict) for verdict in verdicts if verdict is not None))


@pytest.mark.parametrize("name", PROFILES)
def test_an_fsync_keeps_the_flag(name):
    assert not shown(FSYNCED, name, flags="V")
    assert shown(FSYNCED, name, flags="") == {"flags lost"}


def test_without_an_fsync_it_is_verified_or_not():
    assert not shown(ALONE, flags="V")
    assert not shown(ALONE, flags="")
    other = "setup\n  write foo 0 16K\nrun\n  chattr foo +d"
    assert not shown(other, flags="V"), "the workload did not ask for it"


@pytest.mark.parametrize("name", PROFILES)
def test_a_file_that_cannot_be_opened_is_one_bug_and_not_a_lost_flag_too(name):
    """Its flags were not seen."""
    seen = shown(FSYNCED, name, flags="", content=(), errors=("open: EMSGSIZE",))
    assert seen == {"data unreadable", "open failed"}
    assert shown(ALONE, name, content=(), errors=("open: EMSGSIZE",)) == seen, "it was synced before"


def test_the_hashes_behind_the_end_are_no_part_of_the_file():
    longer = Run(0, 16384, "w", 1), Run(16384, 57344, "z")
    assert shown(FSYNCED, "f2fs-verity", flags="V", size=73728, content=longer) >= {
        "size that never was",
        "size lost",
    }


def test_what_was_reserved_behind_the_end_may_go_and_within_it_not():
    """ext4 needs the room behind the end for the hashes."""
    reserved = "setup\n  write foo 0 16K\n  fallocate foo {how} 16K 64K\nrun\n  {call} foo\n  fsync foo"
    gone = {"extents": ((0, 16384, 0),), "blocks": 32}
    behind, within = "keep-size", "alloc"
    assert not shown(reserved.format(how=behind, call="verity"), "ext4-verity", flags="V", **gone)
    assert "preallocation lost" in shown(reserved.format(how=behind, call="evict"), "ext4-verity", **gone)
    lost = shown(reserved.format(how=within, call="verity"), "ext4-verity", flags="V", **gone)
    assert "preallocation lost" in lost
