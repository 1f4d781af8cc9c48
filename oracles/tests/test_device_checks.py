"""What a program asks of a damaged disk: only what is there can have been taken for good."""

import errno

import msgspec
import pytest

from oracles.case import prepare
from oracles.checks import Check, NoCheck, Source
from oracles.faults.device_checks import of_damage, of_fault, promising
from oracles.faults.faulted import fault_case
from oracles.judge import damage_case, judge_damage, judge_fault
from oracles.observation import FaultRun, FaultStep, Node, Observation, Run
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
    with pytest.raises(NoCheck, match="the trees of all earlier times are allowed here"):
        asked(lambda tree: replaced(tree, "foo", mode=0o777), "noticed", "ext4")


def test_checks_are_plain_data():
    one = asked(lambda tree: replaced(tree, "foo", xattrs={"user.x": "32"}), "detected")[0]
    assert msgspec.json.decode(msgspec.json.encode(one), type=Check) == one


# --- a device that fails


class Failed:
    """foo is written and fsynced, and that write fails; then bar, and the device is sound again."""

    WORKLOAD = "setup\n  write foo 0 8K\nrun\n  write foo 0 8K\n  fsync foo\n  write bar 0 4K\n  fsync bar\n"
    POINT = "F:error-writes@2"

    def __init__(self, name="btrfs"):
        self.bench = Bench(self.WORKLOAD, name)
        self.profile = profile(name)

    def asked(self, tree, oracle, point=POINT, after="", after_errno=0, **seen):
        """The checks of the oracle's first violation, and the calls that they stand or fall with."""
        steps = tuple(
            FaultStep(step.index, 0, step.inode, step.blocks, step.left_inode, 0, int(step.index == 2))
            for step in (*self.bench.history.setup, *self.bench.history.run)
        )
        run = FaultRun(
            steps=steps, root_inode=self.bench.history.root_inode, after_call=after, after_errno=after_errno
        )
        observation = Observation(tree=tree, probe_steps=1, fault=run, **seen)
        verdicts = judge_fault(self.bench.history, self.profile, Tier.FS, point, observation)
        (verdict,) = [each for each in verdicts if each.oracle == oracle]
        case = fault_case(self.bench.history, self.profile, Tier.FS, point, observation)
        return of_fault(case, oracle, verdict.violations[0]), promising(case)


def old_foo(bench):
    """The bytes of the first write."""
    content = (Run(0, 8192, "w", stamp=1),)
    return replaced(bench.tree(), "foo", content=content)


def test_what_an_fsync_did_not_tell_is_asked_where_it_succeeds_again():
    scene = Failed()
    (check,), promises = scene.asked(old_foo(scene.bench), "told")
    assert check == Check("bytes", "foo", sources=(Source(0, 8192, (1,)),))
    assert promises == (2, 4)


def test_what_was_durable_before_the_fault_is_asked_in_any_case():
    scene = Failed()
    (check,), _ = scene.asked(without(scene.bench.tree(), "foo"), "contained")
    assert check == Check("exists", "foo")


def test_where_all_is_lost_the_mount_is_the_question():
    scene = Failed()
    (check,), _ = scene.asked(None, "contained", mount_errno=5)
    assert check == Check("mounts")


def test_what_was_corrupted_on_its_way_is_asked_of_a_file_that_is_there():
    scene = Failed()
    content = (Run(0, 8192, "x", hex="25" * 8192),)
    tree = replaced(scene.bench.tree(), "foo", content=content)
    (check, *_), _ = scene.asked(tree, "detected", "F:corrupt@2")
    assert (check.kind, check.given) == ("bytes", "foo")


def test_a_filesystem_that_stopped_without_need_is_asked_by_no_program():
    """Whether it goes on, and how it fails a new file, takes more than a line or two."""
    scene = Failed()
    with pytest.raises(NoCheck, match="no exported program can check this in a few lines"):
        scene.asked(scene.bench.tree(), "contained", "F:delay@2", after="create", after_errno=errno.EIO)
