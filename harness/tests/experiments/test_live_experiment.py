"""A kernel that dies or complains while it records is a finding, from the experiment to its export."""

import re
from pathlib import Path

import msgspec
import pytest

from harness.evidence.store import write_summary
from harness.evidence.summary import EXIT_BROKEN, EXIT_UNKNOWN, sum_up
from harness.experiments.crash_states import CrashStates
from harness.experiments.experiment import run_experiment
from harness.experiments.interestingness import InterestingnessTest, Target, Trigger, trigger_of
from harness.experiments.plan import Plan
from harness.findings.repro_live import live_lines, record_again
from harness.findings.reproducers import reproducers
from harness.guests.spec import GuestSpec
from harness.local.workspace import workspace
from harness.stages.judge import judge_again
from harness.tests.fake_guest import CONSOLE
from harness.tests.fake_recorder import PROFILE, WORKLOAD, DyingGuestSlot
from harness.tests.made_run import question
from oracles.spec import LIVE
from oracles.verdict import Tier
from reports.pages.html import write_report
from reports.results import CRASH, KINDS, Experiment, Summary, read_experiment

PANIC = ("panic", "operation 2", CONSOLE)
WARNING = ["6 all is well", "4 WARNING: CPU: 0 PID: 1 at fs/btrfs/file.c:9 f+0x1/0x2"]
STEPS = [
    {"index": n, "result": 0, "inode": 257 + n, "blocks": 0, "left": 0, "log_lines": n} for n in range(3)
]
PLAN = Plan(1, "6.12", "key", "agent", PROFILE, WORKLOAD, Tier.FS, with_fsck=False)
PANICKED = "btrfs alive: panic (fsync)"


def done(folder: Path, slot: DyingGuestSlot, kind: str = CRASH) -> tuple[Experiment, Summary]:
    run = folder / "run"
    run.mkdir()
    question(run)
    plan = msgspec.structs.replace(PLAN, kind=kind)
    outcome = run_experiment(plan, slot, folder / "pristine", folder, run, lambda _: None)
    return read_experiment(run / "experiments/0001"), sum_up(run, 1.0), outcome


@pytest.fixture
def no_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is recovered: the fake guest records alone."""
    monkeypatch.setattr(CrashStates, "judged", lambda self: iter(()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_panic_is_a_finding_whatever_the_kind_of_experiment(tmp_path: Path, kind: str) -> None:
    """Before, it was UNKNOWN: "recording: guest lost"."""
    experiment, summary, outcome = done(tmp_path, DyingGuestSlot(tmp_path, [PANIC]), kind)
    (finding,) = summary.findings
    assert (finding.signature, finding.state, summary.exit) == (PANICKED, "L:2", EXIT_BROKEN)
    assert (summary.states.planned, summary.states.checked, summary.states.unknown) == (1, 1, 0)
    assert (summary.reasons, outcome.trouble, summary.models) == ((), "", {})
    assert CONSOLE[0] in finding.found
    assert experiment.history is not None
    again = judge_again(experiment, PROFILE, Tier.FS)
    assert again == experiment.judgement


def test_a_guest_that_is_lost_without_a_word_stays_unknown(tmp_path: Path) -> None:
    _, summary, _ = done(tmp_path, DyingGuestSlot(tmp_path, 2 * [("exit", "operation 2", ())]))
    assert (summary.findings, summary.exit) == ((), EXIT_UNKNOWN)
    assert "recording: guest lost (exit)" in summary.reasons[0]


def test_a_warning_is_a_finding_beside_the_states(tmp_path: Path, no_states: None) -> None:
    experiment, summary, _ = done(tmp_path, DyingGuestSlot(tmp_path, kernel_log=WARNING, steps=STEPS))
    (finding,) = summary.findings
    assert (finding.signature, finding.state) == ("btrfs quiet: warning (f())", "L:2")
    assert experiment.facts.planned[LIVE] == 1
    assert summary.states.planned == len(experiment.facts.entries) + 2
    assert set(summary.models) == {"O"}


@pytest.mark.parametrize("kind", KINDS)
def test_its_pages_show_the_operation_and_the_trace(tmp_path: Path, kind: str) -> None:
    done(tmp_path, DyingGuestSlot(tmp_path, [PANIC]), kind)
    run = tmp_path / "run"
    write_summary(run, sum_up(run, 1.0))
    report = write_report(run, {}, [PROFILE])
    told = (report / "finding-F1.html").read_text()
    assert "while the workload was recorded, during 2 fsync A/foo" in told
    assert CONSOLE[0] in told
    assert "Where the kernel was" in told
    whole = (report / "experiment-0001.html").read_text()
    assert CONSOLE[0] in whole
    for page in (told, whole):
        assert results(page) == ["returned", "returned", "never returned"]
        assert "log entries</text>" not in page  # a time line
    assert "There is no log, so nothing else was examined." in whole
    assert all(heading not in whole for heading in ("Every state", "Every fault point", "The device</h2>"))


def results(page: str) -> list[str]:
    """What the page writes beside each operation of the workload."""
    beside = (
        re.sub(" +", " ", one).strip() for one in re.findall(r'<span class="res[^>]*>(.*?)</span>', page)
    )
    return [one for one in beside if one]


def test_minimize_and_repeats_ask_the_recording_alone(tmp_path: Path, monkeypatch) -> None:
    experiment, summary, _ = done(tmp_path, DyingGuestSlot(tmp_path, [PANIC]))
    trigger = trigger_of(summary.findings[0], experiment)
    assert trigger == Trigger(LIVE)
    spec = GuestSpec(tmp_path / "linux", tmp_path / "agent", 1, 1)
    target = Target("6.12", spec, PROFILE, Tier.FS, (PANICKED,), trigger=trigger)
    with workspace() as space:
        interesting = InterestingnessTest(target, space)
        slot = DyingGuestSlot(tmp_path, [PANIC])
        interesting._setting = msgspec.structs.replace(
            interesting._setting, guest_slot=slot, pristine=tmp_path / "pristine"
        )
        assert interesting.examine(WORKLOAD).first == {PANICKED: "L:2"}
        survived = interesting.examine(WORKLOAD)
    assert (survived.first, survived.trouble) == ({}, "")


def test_repro_records_again_and_shows_the_trace(tmp_path: Path, monkeypatch) -> None:
    experiment, summary, _ = done(tmp_path, DyingGuestSlot(tmp_path, [PANIC]))
    monkeypatch.setattr("harness.findings.repro_live.make_filesystem", lambda *_: None)
    monkeypatch.setattr("harness.findings.repro_live.profile", lambda _: PROFILE)
    live, verdicts = record_again(DyingGuestSlot(tmp_path, [PANIC]), experiment, tmp_path)
    told = "\n".join(live_lines(experiment, summary.findings[0].signature, live, verdicts))
    assert "fsync A/foo\n  ---- the kernel stopped (panic) ----" in told
    assert f"the kernel says:\n    {CONSOLE[0]}" in told
    assert "alive       BROKEN" in told
    live, verdicts = record_again(DyingGuestSlot(tmp_path), experiment, tmp_path)
    assert not any(verdict.violations for verdict in verdicts)
    assert "the kernel reported nothing" in "\n".join(live_lines(experiment, "", live, verdicts))


def test_its_program_is_the_workload_up_to_the_operation(tmp_path: Path) -> None:
    experiment, summary, _ = done(tmp_path, DyingGuestSlot(tmp_path, [("panic", "operation 1", CONSOLE)]))
    (finding,) = summary.findings
    made = list(reproducers(finding, experiment, tmp_path))
    assert [[each.word for each in one.run] for one in made] == [["creat"], ["creat", "fsync"]]
    assert {one.way for one in made} == {"plain"}
    assert all(one.asks("survives") for one in made)
