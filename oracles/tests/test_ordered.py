"""ordered: one time for all metadata, where that is promised."""

import msgspec
import pytest

from oracles import ordered
from oracles.case import prepare
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.tests.made import Bench, kinds, node_at, replaced, without
from oracles.verdict import Answer, Tier

TWO = "run\n  creat a\n  creat b\n"


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_the_second_change_without_the_first_is_broken(name):
    """b without a was never."""
    bench = Bench(TWO, name)
    assert kinds(ordered.judge(bench.case(without(bench.tree(), "a")))) == {"not a prefix"}
    assert not kinds(ordered.judge(bench.case(bench.tree(1))))


@pytest.mark.parametrize("name", ["ext4", "xfs"])
def test_of_a_long_history_few_trees_are_kept_from_cut_to_cut(monkeypatch, name):
    """And one that was let go is still found."""
    monkeypatch.setattr(ordered, "FACTS_HELD", 500)
    bench = Bench("run\n" + "".join(f"  mkdir {number}\n" for number in range(60)), name)
    for begun in range(61):
        case = bench.case(bench.tree(begun), begun)
        assert not kinds(ordered.judge(case))
    held = case.model.snapshots
    assert 0 < sum(map(len, held.values())) <= 500
    assert 1 not in held
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


BEHIND = "setup\n  write foo 0 4K\nrun\n  write foo 0 4K\n  creat bar\n  creat baz\n"


@pytest.mark.parametrize(
    ("name", "expected"), [("ext4", set()), ("ext4-data-journal", {"data behind metadata"})]
)
def test_data_in_the_journal_is_no_older_than_the_metadata(name, expected):
    """The write came before a creat that is there."""
    bench = Bench(BEHIND, name)
    old = node_at(bench.tree(0), "foo").content
    tree = replaced(bench.tree(2), "foo", content=old)
    assert kinds(ordered.judge(bench.case(tree))) == expected
    assert not kinds(ordered.judge(bench.case(bench.tree(2))))
    assert not kinds(ordered.judge(bench.case(bench.tree(0))))


def test_a_size_behind_the_metadata_is_broken_too():
    """Appended, then another name: the name alone may not be there."""
    bench = Bench("setup\n  write foo 0 4K\nrun\n  append foo 4K\n  creat bar\n", "ext4-data-journal")
    short = node_at(bench.tree(0), "foo")
    tree = replaced(bench.tree(), "foo", content=short.content, size=short.size)
    assert kinds(ordered.judge(bench.case(tree))) == {"data behind metadata"}


def test_a_write_that_makes_its_file_may_be_there_in_part():
    """Its name is in the first transaction that it takes. A name made behind it shows that it ended."""
    bench = Bench("run\n  write foo 0 8K\n  creat bar\n", "ext4-data-journal")
    half = replaced(bench.tree(1), "foo", content=node_at(bench.tree(1), "foo").content[:1], size=4096)
    assert not kinds(ordered.judge(bench.case(half, begun=1, flying=True)))
    behind = replaced(bench.tree(), "foo", content=node_at(bench.tree(), "foo").content[:1], size=4096)
    assert kinds(ordered.judge(bench.case(behind))) == {"data behind metadata"}


def test_bytes_through_a_mapping_are_in_no_journal():
    """They become the file's at writeback; nothing says when."""
    bench = Bench("setup\n  write foo 0 4K\nrun\n  mmapwrite foo 0 4K\n  creat bar\n", "ext4-data-journal")
    tree = replaced(bench.tree(), "foo", content=node_at(bench.tree(0), "foo").content)
    assert not kinds(ordered.judge(bench.case(tree)))


@pytest.mark.parametrize(("name", "expected"), [("xfs", set()), ("ext4", {"not a prefix"})])
def test_xfs_sets_the_mode_of_an_access_control_list_later(name, expected):
    """And no other attribute of the file, nor that of another call."""
    listed = "setup\n  creat foo\nrun\n  setfacl foo u::rw-,u:1000:rw-,g::rw-,m::rw-,o::---\n"
    bench = Bench(listed, name)
    half = replaced(bench.tree(), "foo", mode=0o644)
    assert kinds(ordered.judge(bench.case(half))) == expected
    other = replaced(bench.tree(), "foo", mode=0o644, uid=5)
    assert kinds(ordered.judge(bench.case(other))) == {"not a prefix"}
    after = Bench(listed + "  creat bar\n", name)
    half = replaced(after.tree(), "foo", mode=0o644)
    assert kinds(ordered.judge(after.case(half))) == {"not a prefix"}


@pytest.mark.parametrize(("name", "expected"), [("xfs", set()), ("ext4", {"not a prefix"})])
def test_chmod_sets_the_access_control_list_behind_the_mode(name, expected):
    """Not the list in front of the mode, nor that of an earlier call; of a list that xfs replaces nothing is
    known."""
    listed = (
        "setup\n  creat foo\n  setfacl foo u::rw-,u:1000:rw-,g::r--,m::rw-,o::---\nrun\n  chmod foo 640\n"
    )
    bench = Bench(listed, name)
    before, after = node_at(bench.tree(0), "foo"), node_at(bench.tree(), "foo")
    assert (before.mode, after.mode) == (0o660, 0o640)
    assert before.xattrs != after.xattrs
    half = replaced(bench.tree(), "foo", xattrs=before.xattrs)
    assert not kinds(ordered.judge(bench.case(half)))
    assert kinds(ordered.judge(bench.case(replaced(bench.tree(), "foo", mode=0o660)))) == expected
    later = Bench(listed + "  creat bar\n", name)
    half = replaced(later.tree(), "foo", xattrs=before.xattrs)
    assert kinds(ordered.judge(later.case(half))) == expected
