"""Workloads with parallel blocks, as far as no guest is needed."""

from pathlib import Path

import msgspec
import pytest

from harness.commands.main import parser
from harness.commands.run import chosen_workloads
from harness.findings.reproducers import NoExport, asked_in_orders, reproducers
from harness.stages.record import program
from oracles.case import prepare
from oracles.checks import NoCheck
from oracles.finding import signature
from oracles.judge import judge_observation
from oracles.observation import Observation, Tree
from oracles.profiles import profile
from oracles.spec import place_of
from oracles.tests.made import Bench, overlapping, replaced, without
from oracles.verdict import Tier, Violation
from reports.programs.export import Reproducer
from reports.results import CRASH, Experiment, ExperimentFacts, Finding, JudgedState, Judgement
from workloads.history import History
from workloads.library import BadSelection
from workloads.text import parse

WORDS = (
    "run\n  creat A\n  parallel\n    thread\n      fsync A\n    thread\n      sync\n      fsync .\n  sync\n"
)


def chosen(*words: str) -> list[str]:
    return [workload.name for workload in chosen_workloads(parser().parse_args(["run", *words]))]


def test_the_agent_is_told_how_many_operations_a_block_has_and_whose_each_is() -> None:
    head, *lines = program(profile("btrfs"), parse(WORDS)).splitlines()
    assert head.endswith("\t1\t20\t-")
    assert [line.split("\t")[-2:] for line in lines] == [
        ["0", "0"],
        ["3", "1"],
        ["3", "2"],
        ["3", "2"],
        ["0", "0"],
    ]
    assert program(profile("btrfs"), parse("run\n  sync\n")).splitlines()[0].endswith("\t0\t20\t-")


@pytest.mark.parametrize("kind", ["--faults", "--cross-check"])
def test_runs_that_repeat_a_workload_leave_threads_out(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("fsync-new-file", "renamed-while-fsynced")
    assert chosen(*names, kind) == ["fsync-new-file"]
    assert (
        f"left out of {kind}: renamed-while-fsynced, because it has parallel blocks"
        in capsys.readouterr().err
    )
    assert chosen(*names) == list(names)
    with pytest.raises(BadSelection, match=r"have parallel blocks\. Run them without"):
        chosen("parallel/*", kind)


LOST = """setup
  creat foo
run
  setxattr foo user.x 1
  parallel
    thread
      fsync foo
    thread
      await 1
      fsync foo
  creat bar
"""
MARKS = {1: (0, 1), 2: (2, 8), 3: (3, 4), 4: (5, 6), 5: (9, 10)}


def found_at(spec: str, lines: str = LOST) -> list[Reproducer]:
    """The programs of a run whose only BROKEN state is this one: foo has no attribute."""
    history = overlapping(lines, MARKS)
    seen = Observation(tree=without_attribute(history), probe_steps=1)
    verdicts = judge_observation(prepare(history, profile("btrfs")), place_of(spec), seen)
    (durable,) = [verdict for verdict in verdicts if verdict.oracle == "durable"]
    (violation,) = durable.violations
    state = JudgedState(spec, "", 0, 0)
    facts = msgspec.structs.replace(FACTS, kind=CRASH)
    experiment = Experiment("", facts, lines, history, Judgement((state,), (verdicts,)), (seen,))
    finding = finding_of(violation, spec)
    return list(reproducers(finding, experiment, Path("made")))


def without_attribute(history: History) -> Tree:
    """As after the last operation, but for the attribute and what is made last."""
    return replaced(without(Bench(history.workload).tree(), "bar"), "foo", xattrs={})


FACTS = ExperimentFacts(1, "made", "parallel", "btrfs", "test", "fs", (), {}, {})


def finding_of(violation: Violation, spec: str) -> Finding:
    return Finding(
        id="F1",
        signature=signature("btrfs", "durable", violation),
        oracle="durable",
        kind=violation.kind,
        role=violation.role,
        tier="fs",
        profile="btrfs",
        kernel="test",
        workload="made",
        experiment=1,
        state=spec,
        subject=violation.subject,
        expected=violation.expected,
        found=violation.found,
        promise=violation.promise,
        count=1,
        workloads=("made",),
        repro="./powercut repro made F1",
    )


def test_a_program_with_threads_asks_where_the_promising_call_had_returned() -> None:
    """While the other is in flight still; the whole block runs, and what stands behind it does not."""
    (one,) = found_at("O:7")
    assert (one.way, one.begun, one.ended) == ("log", (1, 2, 4), (1, 4))
    assert [operation.word for operation in one.run] == ["setxattr", "fsync", "await", "fsync"]
    assert [(check.kind, check.values) for check in one.checks] == [("xattr", ("1",))]


def test_of_threads_a_program_replays_whole_prefixes_alone() -> None:
    with pytest.raises(NoExport, match="an exported program can check only the prefixes of a log"):
        found_at("R:7-6")


def test_what_depends_on_the_order_of_effects_is_asked_by_no_program() -> None:
    """Two calls that give the attribute different values: nobody knows which came last."""
    lines = LOST.replace("  creat bar\n", "").replace(
        "      await 1\n      fsync foo\n", "      setxattr foo user.x 2\n      fsync foo\n"
    )
    history = overlapping(lines, {1: (0, 1), 2: (2, 8), 3: (3, 9), 4: (10, 11)})
    prepared = prepare(history, profile("btrfs"))
    seen = Observation(tree=without_attribute(history), probe_steps=1)
    violation = Violation("xattr lost", "fsynced file", "foo", "", "", "", Tier.POSIX)
    state = JudgedState("O:9", "", 0, 0)
    with pytest.raises(NoCheck, match="depends on the order"):
        asked_in_orders(prepared, state, seen, "durable", violation)
