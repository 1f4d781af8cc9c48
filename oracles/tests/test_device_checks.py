"""What a program asks of a damaged disk: only what is there can have been taken for good."""

import msgspec
import pytest

from oracles.case import prepare
from oracles.checks import Check, NoCheck, Source
from oracles.damage_court import damage_case, judge_damage
from oracles.device_checks import of_damage
from oracles.observation import Node, Observation, Run
from oracles.profiles import profile
from oracles.tests.made import Bench, also, replaced, without
from oracles.verdict import Tier

WORKLOAD = "run\n  write foo 0 8K\n  setxattr foo user.x 1\n  fsync foo\n"
SPEC = "D:O:9/9540^1234"
NOWHERE = Node("A", "unknown", 0, 0, 0, 0, 0, errors=("stat: EUCLEAN",))


def asked(change, oracle, name="btrfs", **seen):
    """The checks of the oracle's first violation when the tree is changed so."""
    bench = Bench(WORKLOAD, name)
    prepared = prepare(bench.history, profile(name), Tier.FS)
    whole = Observation(tree=bench.tree())
    damaged = Observation(tree=change(bench.tree()), **seen)
    verdicts, _ = judge_damage(prepared, SPEC, "log", whole, (), damaged)
    violation = next(each for verdict in verdicts if verdict.oracle == oracle for each in verdict.violations)
    return of_damage(damage_case(prepared, SPEC, "log", whole, (), damaged), oracle, violation)


def same(tree):
    return tree


def test_bytes_are_asked_of_a_file_that_is_there():
    """A damage that takes the file away was not taken for good."""
    content = (Run(0, 8192, "x", hex="25" * 8192),)
    (check,) = asked(lambda tree: replaced(tree, "foo", content=content), "detected")
    assert (check.kind, check.path, check.given) == ("bytes", "foo", "foo")
    assert check.sources == (Source(0, 8192, (-1, 0)),)


def test_a_name_that_never_was_must_be_gone():
    assert asked(lambda tree: also(tree, "fop", tree[1]), "detected")[0] == Check("absent", "fop")


def test_an_attribute_that_cannot_be_read_is_in_order():
    (check,) = asked(lambda tree: replaced(tree, "foo", xattrs={"user.x": "32"}), "detected")
    assert (check.kind, check.given) == ("xattr", "foo")
    assert set(check.values) == {"", "1"}


def test_a_name_that_leads_nowhere_is_asked_for_as_such():
    assert asked(lambda tree: (*tree, NOWHERE), "detected")[0] == Check("leads", "A")


def test_what_the_second_mount_alone_shows_is_found_there():
    bench = Bench(WORKLOAD)
    second = also(bench.tree(), "fop", bench.tree()[1])
    assert asked(same, "detected", second_tree=second)[0] == Check("absent", "fop")


def test_a_dead_kernel_is_asked_whether_it_survives():
    assert asked(same, "alive", death="panic", console=("Kernel panic - not syncing: BUG!",)) == (
        Check("survives"),
    )


def test_what_nothing_told_is_held_against_the_disk_without_the_damage():
    assert asked(lambda tree: without(tree, "foo"), "noticed") == (Check("as before"),)


def test_where_an_older_tree_is_allowed_no_program_asks():
    with pytest.raises(NoCheck, match="a tree of an earlier time is allowed here"):
        asked(lambda tree: replaced(tree, "foo", mode=0o777), "noticed", "ext4")


def test_checks_are_plain_data():
    one = asked(lambda tree: replaced(tree, "foo", xattrs={"user.x": "32"}), "detected")[0]
    assert msgspec.json.decode(msgspec.json.encode(one), type=Check) == one
