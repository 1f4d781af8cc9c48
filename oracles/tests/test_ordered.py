"""ordered: one time for all metadata, where that is promised."""

import msgspec
import pytest

from oracles import ordered
from oracles.case import prepare
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.tests.made import Bench, kinds, replaced, without
from oracles.verdict import Answer, Tier

TWO = "run\n  creat a\n  creat b\n"


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_the_second_change_without_the_first_is_broken(name):
    """b without a was never."""
    bench = Bench(TWO, name)
    assert kinds(ordered.judge(bench.case(without(bench.tree(), "a")))) == {"not a prefix"}
    assert not kinds(ordered.judge(bench.case(bench.tree(1))))


def test_btrfs_is_not_asked_once_an_fsync_has_begun():
    """The log tree holds some of the running transaction; ext4 commits all of it."""
    text = TWO + "  fsync b\n"
    for name, expected in (("btrfs", set()), ("ext4", {"not a prefix"})):
        bench = Bench(text, name)
        verdict = ordered.judge(bench.case(without(bench.tree(), "a"), flying=True))
        assert kinds(verdict) == expected
    assert verdict.checked > 0


def test_btrfs_is_asked_on_after_an_fsync_that_never_reached_it():
    """ENOENT: a mistyped path must not switch the oracle off."""
    bench = Bench(TWO + "  fsync b\n")
    *before, last = bench.history.run
    run = (*before, msgspec.structs.replace(last, result=-2))
    prepared = prepare(msgspec.structs.replace(bench.history, run=run), profile("btrfs"))
    seen = Observation(tree=without(bench.tree(), "a"), probe_steps=1)
    assert kinds(ordered.judge(prepared.case(last.end_entry + 1, seen))) == {"not a prefix"}


def test_btrfs_is_asked_again_after_a_sync():
    """A commit ends the log."""
    bench = Bench("run\n  creat f\n  fsync f\n  sync\n  creat a\n  creat b\n")
    assert kinds(ordered.judge(bench.case(without(bench.tree(), "a")))) == {"not a prefix"}


def test_a_time_before_the_last_sync_is_broken():
    """The prefix must reach that far."""
    bench = Bench("run\n  creat a\n  sync\n  creat b\n", "xfs")
    assert kinds(ordered.judge(bench.case(bench.tree(0)))) == {"not a prefix"}


def test_xattrs_are_in_the_order_of_names():
    """The xattr was set before b was made."""
    bench = Bench("setup\n  creat a\nrun\n  setxattr a user.x 1\n  creat b\n", "ext4")
    assert kinds(ordered.judge(bench.case(replaced(bench.tree(), "a", xattrs={})))) == {"not a prefix"}


def test_size_and_content_are_not_asked():
    """Delayed writeback has an order of its own."""
    bench = Bench("run\n  write a 0 8K\n  creat b\n", "ext4")
    assert not kinds(ordered.judge(bench.case(replaced(bench.tree(), "a", size=0, content=()))))


def test_posix_asks_nothing():
    """No verdict at all."""
    bench = Bench(TWO, "ext4", Tier.POSIX)
    assert ordered.judge(bench.case(without(bench.tree(), "a"))) is None


def test_the_verdict_names_its_tier_and_the_nearest_time():
    """For the reader of the page."""
    bench = Bench(TWO, "ext4")
    verdict = ordered.judge(bench.case(without(bench.tree(), "a")))
    assert verdict.answer is Answer.BROKEN
    assert verdict.violations[0].tier is Tier.SOMC
    assert "nearest" in verdict.violations[0].expected
