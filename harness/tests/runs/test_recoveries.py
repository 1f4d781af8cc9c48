"""States that were recovered in two ways: what differs."""

import msgspec

from harness.runs.recoveries import difference, ends_of_operations
from oracles.observation import Node, Observation
from oracles.verdict import Answer, Tier, Verdict
from workloads.history import Step, history_of
from workloads.text import parse

ROOT = Node(".", "dir", 256, 0o755, 1, 0, 0)
FOO = Node("foo", "file", 257, 0o644, 1, 4096, 8)


def back(*nodes, errno=0, answer=Answer.HOLDS, oracle="durable"):
    seen = Observation(mount_errno=errno, tree=None if errno else nodes)
    return seen, (Verdict(oracle=oracle, tier=Tier.FS, answer=answer),)


def test_inode_numbers_and_places_may_differ():
    moved = msgspec.structs.replace(FOO, ino=300, blocks=16)
    assert difference(back(ROOT, FOO), back(ROOT, moved)) == ""


def test_a_tree_that_differs_names_its_first_path():
    larger = msgspec.structs.replace(FOO, size=8192)
    assert difference(back(ROOT, FOO), back(ROOT, larger)) == "the trees differ: foo"
    assert "foo is there first, and not in this way" in difference(back(ROOT, FOO), back(ROOT))
    assert "foo is not there first" in difference(back(ROOT), back(ROOT, FOO))


def test_a_mount_that_fails_in_one_way_differs():
    assert difference(back(ROOT), back(errno=117)) == "the mount gave errno 0 first, and 117 in this way"


def test_verdicts_are_compared_where_both_ways_have_them():
    broken = back(ROOT, answer=Answer.BROKEN)
    assert difference(back(ROOT), broken) == "durable is HOLDS first, and BROKEN in this way"
    assert difference(back(ROOT), back(ROOT, answer=Answer.UNKNOWN)) == ""
    assert difference(back(ROOT), back(ROOT, answer=Answer.BROKEN, oracle="fsck")) == ""


def test_a_real_disk_gets_the_states_at_the_end_of_each_operation():
    workload = parse("run\n  creat a\n  fsync a\n")
    marks = {"begin-0": 0, "done-0": 1, "begin-1": 2, "done-1": 5}
    steps = [Step(index, operation, 0) for index, operation in enumerate(workload.run)]
    history = history_of((), steps, marks, 7, profile="ext4", kernel="6.12", root_inode=2, workload=workload)
    assert [state.spec for state in ends_of_operations(history, 7)] == ["O:2", "O:6", "O:7"]
