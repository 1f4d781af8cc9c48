"""oracles/kept.py: what a recovery showed outlives the next power failure; so does what was fsynced then."""

import msgspec
import pytest

from oracles import judge, kept
from oracles.observation import After, Node, Observation, Run, Seen, Use, UseStep
from oracles.tests.made import Bench
from oracles.verdict import Answer

NEW = ".powercut-after"
MAKE = UseStep("make", NEW, 24, 60001)
REMOVE = UseStep("remove", NEW)
GROW = UseStep("grow", "f", 8192, 61002)
STAMPED = Run(0, 4096, "w", 2)


def node(path: str, kind: str = "file", **fields) -> Node:
    return msgspec.structs.replace(Node(path, kind, 7, 0o644, 1, 0, 0), **fields)


ROOT = node(".", "dir", ino=2)
FILE = node("f", size=4096, content=(STAMPED,))
MADE = node(NEW, ino=9, size=24, content=(Run(0, 24, "w", 60001),))
LONGER = msgspec.structs.replace(FILE, size=8192, content=(STAMPED, Run(4096, 4096, "w", 61002)))


def verdict(done: int, steps: tuple[UseStep, ...], *found: Node, before: tuple[Node, ...] = (ROOT, FILE)):
    bench = Bench("run\n  creat f\n  sync\n")
    observation = Observation(tree=(ROOT, *found), after=After(done, Seen(before, Use(steps))))
    return kept.judge(bench.prepared.case(0, observation))


def kinds(*arguments, **more) -> list[tuple[str, str]]:
    return [(each.kind, each.subject) for each in verdict(*arguments, **more).violations]


def test_a_tree_that_is_as_before_holds():
    assert verdict(0, (), FILE).answer is Answer.HOLDS


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ((), "name gone"),
        ((FILE, node("g")), "name appeared"),
        ((msgspec.structs.replace(FILE, mode=0o600),), "mode changed"),
        ((msgspec.structs.replace(FILE, content=(Run(0, 4096, "z"),)),), "content changed"),
    ],
)
def test_what_came_back_once_comes_back_again(found, kind):
    assert [one for one, _ in kinds(0, (), *found)] == [kind]


def test_what_a_directory_counts_is_not_compared():
    old = node("A", "dir", nlink=2, size=10)
    new = msgspec.structs.replace(old, nlink=3, size=20)
    assert not kinds(0, (), new, before=(ROOT, old))


def test_a_new_file_is_there_once_its_fsync_has_returned():
    assert not kinds(0, (MAKE,), FILE)
    assert not kinds(0, (MAKE,), FILE, MADE)
    assert not kinds(1, (MAKE,), FILE, MADE)
    assert kinds(1, (MAKE,), FILE) == [("fsynced file lost", NEW)]
    short = msgspec.structs.replace(MADE, size=16, content=(Run(0, 16, "w", 60001),))
    assert kinds(1, (MAKE,), FILE, short) == [("fsynced data lost", NEW)]


def test_a_new_file_may_be_gone_once_its_removal_began():
    assert not kinds(1, (MAKE, REMOVE), FILE)
    assert not kinds(2, (MAKE, REMOVE), FILE)
    assert not kinds(2, (MAKE, REMOVE), FILE, MADE)


def test_a_block_that_was_added_is_there_once_its_fsync_has_returned():
    assert not kinds(0, (GROW,), FILE)
    assert not kinds(0, (GROW,), LONGER)
    assert not kinds(1, (GROW,), LONGER)
    assert kinds(1, (GROW,), FILE) == [("size changed", "f")]
    torn = msgspec.structs.replace(LONGER, content=(STAMPED, Run(4096, 4096, "z")))
    assert kinds(1, (GROW,), torn) == [("content changed", "f")]


def test_nothing_grows_before_it_is_asked_to():
    assert kinds(0, (MAKE, GROW), LONGER) == [("size changed", "f")]


def test_a_file_with_two_names_grows_with_each():
    """One inode: each step is about what the one before left."""
    other = msgspec.structs.replace(FILE, path="g")
    second = UseStep("grow", "g", 12288, 61004)
    runs = (*LONGER.content, Run(8192, 4096, "w", 61004))
    both = [msgspec.structs.replace(each, size=12288, content=runs) for each in (FILE, other)]
    assert not kinds(2, (GROW, second), *both, before=(ROOT, FILE, other))


def test_a_gap_before_the_new_block_is_zeros():
    start = Run(0, 1000, "w", 2)
    old = msgspec.structs.replace(FILE, size=1000, content=(start,))
    runs = (start, Run(1000, 3096, "z"), Run(4096, 4096, "w", 61002))
    new = msgspec.structs.replace(old, size=8192, content=runs)
    assert not kinds(1, (GROW,), new, before=(ROOT, old))
    empty = msgspec.structs.replace(FILE, size=16, content=(Run(0, 16, "z"),))
    new = msgspec.structs.replace(empty, size=8192, content=(Run(0, 4096, "z"), Run(4096, 4096, "w", 61002)))
    assert not kinds(1, (GROW,), new, before=(ROOT, empty))


def test_of_content_that_is_a_hash_only_what_did_not_grow_is_compared():
    """As of a log that came without its history."""
    old = msgspec.structs.replace(FILE, content=(Run(0, 4096, "h", 0, "aa"),))
    new = msgspec.structs.replace(FILE, size=8192, content=(Run(0, 8192, "h", 0, "bb"),))
    made = msgspec.structs.replace(MADE, content=(Run(0, 24, "h", 0, "cc"),))
    assert not kinds(2, (MAKE, GROW), new, made, before=(ROOT, old))
    assert kinds(2, (MAKE, GROW), old, made, before=(ROOT, old)) == [("size changed", "f")]
    other = msgspec.structs.replace(old, content=(Run(0, 4096, "h", 0, "bb"),))
    assert kinds(0, (), other, before=(ROOT, old)) == [("content changed", "f")]


def test_a_call_that_fails_while_the_filesystem_is_used_is_broken_unless_there_is_no_room():
    bench = Bench("run\n  creat f\n  sync\n")
    failed = (
        UseStep("make", NEW, 24, 60001, "fsync: EIO"),
        UseStep("grow", "f", 8192, 61002, "room: ENOSPC"),
    )
    seen = Observation(tree=(ROOT, FILE), use=Use(failed))
    (violation,) = kept.judge(bench.prepared.case(0, seen)).violations
    assert (violation.kind, violation.found) == ("use failed", "make: fsync: EIO")


def test_model_a_is_judged_by_what_came_before_and_not_by_the_model():
    bench = Bench("run\n  creat f\n  sync\n")
    for seen in (
        Observation(tree=(ROOT, FILE), probe_steps=3, after=After(0, Seen((ROOT, FILE)))),
        Observation(tree=(ROOT, FILE), use=Use()),
    ):
        oracles = {one.oracle for one in judge.judge_observation(bench.prepared, 0, seen)}
        assert "kept" in oracles
        assert oracles.isdisjoint(judge.BY_ORDER)
    plain = judge.judge_observation(bench.prepared, 0, Observation(tree=(ROOT,)))
    assert "kept" not in {one.oracle for one in plain}
