"""oracles/judge.py: all oracles about one state; UNKNOWN is for our own trouble."""

import dataclasses

import msgspec
import pytest

from oracles import durable, fsck, judge, redundant
from oracles.case import prepare
from oracles.observation import Fsck, Observation
from oracles.profiles import profile
from oracles.tests.made import Bench, history_of, without
from oracles.verdict import Answer, Tier

TEXT = "run\n  creat a\n  sync\n"


def answers(verdicts):
    return {verdict.oracle: verdict.answer for verdict in verdicts}


def test_trouble_of_ours_makes_every_oracle_unknown():
    """With its reason, and never a violation. The checker, which did not run, has no verdict, nor have copies
    that were not scrubbed."""
    bench = Bench(TEXT)
    verdicts = judge.judge_observation(bench.prepared, 3, Observation(trouble="guest lost"))
    assert [v.oracle for v in verdicts] == [one.NAME for one in judge.ORACLES if one not in (fsck, redundant)]
    assert all(v.answer is Answer.UNKNOWN and v.reason == "guest lost" for v in verdicts)


def test_an_oracle_that_crashes_is_unknown_and_the_others_go_on(monkeypatch):
    """The exception's type, text and line are its reason."""
    monkeypatch.setattr(durable, "judge", lambda case: 1 // 0)
    bench = Bench(TEXT)
    verdicts = judge.judge_state(bench.case(bench.tree()))
    assert answers(verdicts)["durable"] is Answer.UNKNOWN
    assert answers(verdicts)["atomic"] is Answer.HOLDS
    assert "ZeroDivisionError" in next(v.reason for v in verdicts if v.oracle == "durable")


def test_a_refused_mount_is_told_once():
    """mounts is BROKEN and the oracles of the tree give no verdict."""
    bench = Bench(TEXT)
    verdicts = judge.judge_observation(bench.prepared, 3, Observation(mount_errno=22))
    assert answers(verdicts) == {"mounts": Answer.BROKEN, "quiet": Answer.HOLDS}


def test_a_history_that_the_model_cannot_follow_is_unknown():
    """An unlink that succeeded where there was nothing: our model is wrong, not the filesystem."""
    history = history_of(TEXT)
    odd = msgspec.structs.replace(
        history.run[0], operation=msgspec.structs.replace(history.run[0].operation, word="unlink")
    )
    history = msgspec.structs.replace(history, run=(odd, *history.run[1:]))
    prepared = prepare(history, profile("btrfs"))
    verdicts = judge.judge_observation(prepared, 3, Observation(tree=()))
    assert {verdict.answer for verdict in verdicts} == {Answer.UNKNOWN}
    assert "there is no a" in verdicts[0].reason


def test_an_inode_number_that_contradicts_the_model_is_unknown():
    """Matching by number would accuse the wrong object."""
    history = history_of("run\n  creat a\n  fsync a\n")
    odd = msgspec.structs.replace(history.run[1], inode=4711)
    history = msgspec.structs.replace(history, run=(history.run[0], odd))
    assert "inode 4711" in prepare(history, profile("btrfs")).trouble


def test_oracles_that_do_not_ask_the_model_say_the_same_at_every_cut(monkeypatch):
    """So they are asked once for each observation; without allowed values they have nothing else to go by."""
    bench = Bench("run\n  write a 0 8K\n  fsync a\n")
    seen = Observation(
        tree=bench.tree(),
        second_tree=without(bench.tree(), "a"),
        first_probe=("write .: ENOSPC",),
        probe=("unlink a: EIO",),
        probe_steps=9,
        kernel_log=("4 WARNING: x",),
        fsck=Fsck(1, "ERROR: x"),
    )
    case = bench.prepared.case(0, seen)
    anywhere = {}
    first = judge.judge_observation(bench.prepared, 0, seen, anywhere)
    assert anywhere.keys() == {oracle.NAME for oracle in judge.ORACLES} - judge.BY_ORDER
    blind = dataclasses.replace(case, allowed=NoModel(case.allowed), readings=(), prefix=None, history=None)
    for oracle in judge.ORACLES:
        if oracle.NAME not in judge.BY_ORDER:
            assert oracle.judge(blind) == anywhere[oracle.NAME]
    asked = []
    for oracle in judge.ORACLES:
        monkeypatch.setattr(oracle, "judge", lambda case, name=oracle.NAME: asked.append(name))
    judge.judge_observation(bench.prepared, 3, seen, anywhere)
    assert set(asked) == judge.BY_ORDER
    said = answers(first)
    assert {said[name] for name in ("quiet", "fsck", "usable", "stable")} == {Answer.BROKEN}


class NoModel:
    """Of AllowedValues only which promises are asked for."""

    def __init__(self, allowed):
        self.asks = allowed.asks


def test_every_oracle_says_what_it_checks_and_what_not():
    """For the report; each has its own name."""
    assert len({oracle.NAME for oracle in judge.EVERY_ORACLE}) == len(judge.EVERY_ORACLE)
    assert all(len(oracle.CHECKS) > 20 and len(oracle.NOT_CHECKED) > 20 for oracle in judge.EVERY_ORACLE)


def test_ordered_is_asked_from_tier_somc_on():
    """posix does not know it."""
    for tier, asked in ((Tier.POSIX, False), (Tier.SOMC, True), (Tier.FS, True)):
        bench = Bench(TEXT, tier=tier)
        assert ("ordered" in answers(judge.judge_state(bench.case(bench.tree())))) is asked


def test_the_same_question_gets_the_same_answer():
    """Bit by bit."""
    bench = Bench("run\n  write a 0 8K\n  fsync a\n")
    case = bench.case(bench.tree(0))
    first = msgspec.json.encode(judge.judge_state(case))
    assert first == msgspec.json.encode(judge.judge_state(case))
    assert b"BROKEN" in first


def without_history():
    """A bench whose tree nobody knows the calls of."""
    bench = Bench(TEXT)
    history = msgspec.structs.replace(
        bench.history, workload=msgspec.structs.replace(bench.history.workload, run=()), run=(), known=False
    )
    return bench, prepare(history, profile("btrfs"))


def test_without_a_history_only_those_are_asked_that_need_none():
    """A tree full of names that nobody wrote down is no finding; a tree that contradicts itself is."""
    bench, prepared = without_history()
    verdicts = judge.judge_observation(prepared, 3, Observation(tree=bench.tree(), probe_steps=1))
    assert answers(verdicts) == dict.fromkeys(
        ("mounts", "quiet", "usable", "stable", "consistent"), Answer.HOLDS
    )
    torn = tuple(msgspec.structs.replace(node, nlink=node.nlink + 3) for node in bench.tree())
    verdicts = judge.judge_observation(prepared, 3, Observation(tree=torn, probe_steps=1))
    assert answers(verdicts)["consistent"] is Answer.BROKEN


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("4 init: page allocation failure: order:0, mode:0x40830(GFP_ATOMIC)", Answer.UNKNOWN),
        ("0 Kernel panic - not syncing: System is deadlocked on memory", Answer.UNKNOWN),
        ("4 mount: page allocation failure: order:10, mode:0x40dc0(GFP_KERNEL)", Answer.BROKEN),
    ],
)
def test_a_guest_without_a_page_left_is_trouble_of_ours(line, answer):
    """A length that a damaged disk gives may ask for many pages: that is the filesystem's."""
    bench, prepared = without_history()
    log = (line, "4 Call Trace:")
    verdicts = judge.judge_observation(
        prepared, 3, Observation(tree=bench.tree(), probe_steps=1, kernel_log=log)
    )
    assert answers(verdicts)["quiet"] is answer
    assert (answers(verdicts)["stable"] is Answer.UNKNOWN) == (answer is Answer.UNKNOWN)


def test_without_a_history_trouble_is_that_of_the_same_oracles():
    _, prepared = without_history()
    verdicts = judge.judge_observation(prepared, 3, Observation(trouble="guest lost"))
    assert answers(verdicts) == dict.fromkeys(
        ("mounts", "quiet", "usable", "stable", "consistent"), Answer.UNKNOWN
    )
