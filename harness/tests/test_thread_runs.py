"""Workloads with parallel blocks, as far as no guest is needed."""

from pathlib import Path

import pytest

from harness.export import reproducer
from harness.main import chosen_workloads, parser
from harness.record import program
from oracles.case import prepare
from oracles.checks import NoCheck
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.tests.made import overlapping
from reports.results import State
from workloads.library import BadSelection
from workloads.text import parse

WORDS = (
    "run\n  creat A\n  parallel\n    thread\n      fsync A\n    thread\n      sync\n      fsync .\n  sync\n"
)


def chosen(*words: str) -> list[str]:
    return [workload.name for workload in chosen_workloads(parser().parse_args(["run", *words]))]


def test_the_agent_is_told_how_many_operations_a_block_has_and_whose_each_is() -> None:
    head, *lines = program(profile("btrfs"), parse(WORDS)).splitlines()
    assert head.endswith("\t1")
    assert [line.split("\t")[-2:] for line in lines] == [
        ["0", "0"],
        ["3", "1"],
        ["3", "2"],
        ["3", "2"],
        ["0", "0"],
    ]
    assert program(profile("btrfs"), parse("run\n  sync\n")).splitlines()[0].endswith("\t0")


@pytest.mark.parametrize("kind", ["--faults", "--cross-check"])
def test_runs_that_repeat_a_workload_leave_threads_out(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("fsync-new-file", "renamed-while-fsynced")
    assert chosen(*names, kind) == ["fsync-new-file"]
    assert f"left out of {kind}: renamed-while-fsynced, which has parallel blocks" in capsys.readouterr().err
    assert chosen(*names) == list(names)
    with pytest.raises(BadSelection, match="have parallel blocks; try them without"):
        chosen("parallel/*", kind)


def test_a_finding_behind_the_begin_of_a_block_is_not_exported(tmp_path: Path) -> None:
    history = overlapping(WORDS, {0: (0, 1), 1: (2, 9), 2: (3, 5), 3: (6, 10), 4: (11, 12)})
    case = prepare(history, profile("btrfs")).case(7, Observation())

    class Facts:
        profile = "btrfs"

    class One:
        facts = Facts

    with pytest.raises(NoCheck, match="threads run in parallel before the power fails"):
        reproducer(None, One, case, State("O:7", "", 0, 0), None, "log", tmp_path)  # type: ignore[arg-type]
