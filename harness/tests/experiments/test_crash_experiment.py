"""What an experiment keeps, of a recording made by hand."""

from pathlib import Path

import pytest

from harness.experiments.crash_states import is_loud
from harness.experiments.experiment import Outcome, facts_of, keep_evidence
from harness.experiments.plan import Plan
from harness.stages.judge import Ledger
from harness.stages.record import Recording
from harness.states.log import Entry, open_log, write_log
from harness.tests.made_run import BENCH, DEVICE_BYTES, judged
from oracles.profiles import profile
from oracles.verdict import Answer, Tier, Verdict
from workloads.entries import EntryFlag


class Examined:
    """An examination that has come to its end."""

    stage, recoveries = "recovering", None

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def kernel_log(self) -> list[str]:
        return ["4 afterwards"]


class Scene:
    """An experiment that has come to its end, of a log of one entry."""

    def __init__(self, folder: Path, sparing: bool = False) -> None:
        self.folder = folder
        base, log = folder / "base", folder / "log"
        base.write_bytes(bytes(DEVICE_BYTES))
        write_log(log, [Entry(0, 1, EntryFlag.FLUSH, bytes(512))])
        self.recording = Recording(base, log, BENCH.history, {}, ("4 while it ran",))
        workload = BENCH.history.workload
        self.plan = Plan(
            1, "test", "key", "agent", profile("btrfs"), workload, Tier.FS, False, sparing=sparing
        )

    def keep(self, ledger: Ledger, trouble: str = "") -> tuple[Outcome, Path]:
        with open_log(self.recording.log) as opened:
            facts = facts_of(self.plan, trouble, self.recording, opened)
        outcome = keep_evidence(self.folder, self.plan, facts, self.recording, Examined(ledger))
        return outcome, self.folder / "experiments/0001"


def ledger_of(*answers: Answer) -> Ledger:
    ledger = Ledger()
    for place, answer in enumerate(answers):
        number = ledger.observe(b'{"mount_errno":0}')
        ledger.add(f"O:{place}", "", number, ledger.set_number((Verdict("mounts", Tier.FS, answer),)))
    return ledger


@pytest.mark.parametrize(
    ("ledger", "trouble", "kept"),
    [
        (ledger_of(Answer.HOLDS, Answer.HOLDS), "", False),
        (ledger_of(Answer.HOLDS, Answer.BROKEN), "", True),
        (ledger_of(Answer.HOLDS, Answer.UNKNOWN), "", True),
        (ledger_of(Answer.HOLDS), "recovering: gone", True),
        (ledger_of(), "", True),
    ],
)
def test_a_sparing_experiment_keeps_the_log_of_what_does_not_hold(
    tmp_path: Path, ledger: Ledger, trouble: str, kept: bool
) -> None:
    _, folder = Scene(tmp_path, sparing=True).keep(ledger, trouble)
    assert [(folder / name).exists() for name in ("log.zst", "base.log.zst")] == [kept, kept]
    assert (folder / "experiment.json").exists()


def test_what_is_not_sparing_keeps_all(tmp_path: Path) -> None:
    _, folder = Scene(tmp_path).keep(ledger_of(Answer.HOLDS))
    assert (folder / "log.zst").exists()
    assert (folder / "base.log.zst").exists()


def test_the_kernel_log_of_the_recording_comes_before_that_of_the_states(tmp_path):
    """And the outcome says what the experiment's facts say."""
    outcome, kept = Scene(tmp_path).keep(judged().ledger, "recovering: gone")
    assert outcome.trouble == "recovering: gone"
    assert (kept / "kernel.log").read_text() == "== while recording ==\n4 while it ran\n4 afterwards\n"
    assert not (kept / "recoveries").exists()


def test_a_line_within_a_message_of_the_kernel_is_not_loud():
    """XFS prints an empty one."""
    assert [line for line in ("3 XFS: bad", "", "of what", "6 well") if is_loud(line)] == ["3 XFS: bad"]
