"""What a run keeps of a worker that died, of a mistake of ours, and of a scratch folder without room."""

import errno
from pathlib import Path

import msgspec
import pytest

from harness.evidence.store import NoResults, experiment_folder, new_run
from harness.evidence.summary import sum_up
from harness.experiments import examination
from harness.experiments.examination import Setting, record_in
from harness.experiments.experiment import Outcome
from harness.experiments.plan import Plan
from harness.guests.interface import LostGuest
from harness.local import workspace as scratch
from harness.local.progress import Progress
from harness.runs import run as subject
from harness.runs.pool import Lost, Said
from harness.runs.run import RunSpec, Workbench, Worker, heed, keep_left, require_same_question
from harness.stages.checks import NOW, THEN, THEN_BLOCKS, AuditFailed
from harness.tests.made_run import BENCH, keep, question
from oracles.profiles import profile
from oracles.verdict import Tier
from reports.formats import NOT_KNOWN
from reports.results import read_experiment, read_question
from workloads.library import load

PLAN = Plan(1, "test", "key", "hash", profile("btrfs"), BENCH.history.workload, Tier.FS, False)
LOST = Lost(PLAN, "killed by signal 9")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = new_run(tmp_path)
    question(run)
    return run


def test_an_experiment_that_two_workers_died_over_is_unknown_with_the_reason(run: Path) -> None:
    assert heed(PLAN, LOST, run, Progress(quiet=True)) == 0
    facts = read_experiment(run / "experiments/0001").facts
    assert facts.trouble == "the worker was killed by signal 9, 2 times during this experiment"
    summary = sum_up(run, 1.0)
    assert (summary.exit, summary.experiments, summary.undone_experiments) == (3, 1, 1)


def test_what_was_whole_when_its_worker_died_is_kept(run: Path) -> None:
    """It was renamed into place, and the worker died before it could say so."""
    keep(run)
    heed(PLAN, LOST, run, Progress(quiet=True))
    assert read_experiment(run / "experiments/0001").facts.trouble == ""


def test_an_experiment_is_replaced_at_once(run: Path) -> None:
    """Nothing half removed ever stands under its name."""
    with experiment_folder(run, 1) as folder:
        (folder / "old").touch()
    with experiment_folder(run, 1) as folder:
        (folder / "new").touch()
    assert [path.name for path in (run / "experiments").rglob("*")] == ["0001", "new"]


class Slot:
    """In place of a GuestSlot."""

    boots = 0

    @property
    def recorder(self) -> "Slot":
        return self

    def guest(self) -> None:
        return None

    def drop(self) -> None:
        self.boots += 1


@pytest.fixture
def bench(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """One that needs no guest."""
    made = Workbench(Worker(str(run)), scratch.Workspace(tmp_path))
    monkeypatch.setattr(made, "_guest_slot_for", lambda _: Slot())
    return made


def test_a_mistake_of_ours_is_the_trouble_of_its_experiment_alone(
    run: Path, bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "run_experiment", lambda *_: {}["no such key"])
    outcome = bench.do_or_tell(PLAN, print)
    assert outcome == Outcome(1, "a bug of Powercut: KeyError: 'no such key'")
    kept = run / "experiments/0001"
    assert read_experiment(kept).facts.trouble == outcome.trouble
    assert "Traceback" in (kept / "kernel.log").read_text()


def test_an_audit_that_fails_is_no_trouble_of_one_experiment(
    run: Path, bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other experiments proved is in doubt, too: the worker ends the run with it."""

    def examine(*_: object) -> None:
        raise AuditFailed("it answers otherwise")

    monkeypatch.setattr(subject, "run_experiment", examine)
    with pytest.raises(
        AuditFailed, match=rf"{PLAN.workload.name} on {PLAN.profile.name}: it answers otherwise"
    ):
        bench.do_or_tell(PLAN, print)
    assert not list((run / "experiments").iterdir())


def test_both_disks_of_an_audit_that_failed_are_kept(
    run: Path, bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the folder of the run: the worker's own is removed when it ends."""
    disks = tmp_path / "disks"
    disks.mkdir()
    for name in (NOW, THEN, THEN_BLOCKS):
        (disks / name).write_bytes(name.encode() + bytes(8192))

    def examine(*_: object) -> None:
        raise AuditFailed("it answers otherwise", disks)

    monkeypatch.setattr(subject, "run_experiment", examine)
    with pytest.raises(AuditFailed, match=r"otherwise\. Both disks are in .*audit-failed/0001$"):
        bench.do_or_tell(PLAN, print)
    kept = run / "audit-failed" / "0001"
    assert {one.name: one.read_bytes() for one in kept.iterdir()} == {
        name: name.encode() + bytes(8192) for name in (NOW, THEN, THEN_BLOCKS)
    }


def test_where_the_scratch_folder_is_full_nothing_is_kept(
    run: Path, bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest whose disk finds no room there sees I/O errors."""
    monkeypatch.setattr(subject, "run_experiment", lambda *given: given[-1](1))
    monkeypatch.setattr(scratch, "FULL_BYTES", 1 << 62)
    with pytest.raises(OSError, match="results of guests are not reliable") as raised:
        bench.do_or_tell(PLAN, print)
    assert raised.value.errno == errno.ENOSPC
    assert not list((run / "experiments").iterdir())


@pytest.mark.parametrize(
    ("kinds", "recorded"), [(["exit"], True), (["exit", "exit"], False), (["panic"], False)]
)
def test_a_guest_that_somebody_kills_while_it_records_records_once_more(
    monkeypatch: pytest.MonkeyPatch, kinds: list[str], recorded: bool
) -> None:
    slot, fates = Slot(), iter(kinds)

    def record(*_: object, **__: object) -> str:
        for kind in fates:
            raise LostGuest(kind, (), "gone")
        return "a recording"

    monkeypatch.setattr(examination, "record", record)
    setting = Setting(slot, profile("btrfs"), Tier.FS, "test", Path(), Path())  # type: ignore[arg-type]
    if recorded:
        assert record_in(setting, BENCH.history.workload) == "a recording"
    else:
        with pytest.raises(LostGuest):
            record_in(setting, BENCH.history.workload)
    assert slot.boots == (kinds[0] == "exit")


def run_spec(*names: str) -> RunSpec:
    return RunSpec(tuple(load(name) for name in names), (profile("btrfs"),), ("6.12",))


def test_a_run_goes_on_only_with_what_it_planned(run: Path) -> None:
    """A glob means more workloads when the library has grown: their numbers are others."""
    with pytest.raises(NoResults, match="Start a new run"):
        require_same_question(run, run_spec("fsync-new-file"), [PLAN])


def test_an_older_run_that_goes_on_learns_what_it_planned(run: Path) -> None:
    question(run, planned=NOT_KNOWN)
    made = msgspec.structs.replace(BENCH.history.workload, name="made")
    of_it = RunSpec((made,), (profile("btrfs"),), ("6.12",))
    require_same_question(run, of_it, [PLAN, PLAN])
    assert read_question(run).planned == 2


def test_a_message_that_is_no_end_counts_no_boot(run: Path) -> None:
    for said in (Said("said"), Said("said", 3)):
        assert heed(PLAN, said, run, Progress(quiet=True)) == 0
    assert heed(PLAN, Said("done", (Outcome(1, ""), 2)), run, Progress(quiet=True)) == 2


def test_a_run_is_whole_without_what_was_not_begun_and_names_it(run: Path) -> None:
    keep(run)
    plans = [PLAN, msgspec.structs.replace(PLAN, number=2, workload=load("replace-by-rename"))]
    keep_left(run, plans)
    asked = read_question(run)
    assert (asked.planned, asked.left) == (1, ("replace-by-rename on btrfs, kernel test",))
    assert sum_up(run, 1.0).reasons == ()


def test_what_was_left_is_done_when_the_run_goes_on(run: Path) -> None:
    plans = [PLAN, msgspec.structs.replace(PLAN, number=2)]
    question(run, planned=2)
    keep(run)
    keep_left(run, plans)
    workload = msgspec.structs.replace(BENCH.history.workload, name="made")
    require_same_question(run, RunSpec((workload,), (profile("btrfs"),), ("test",)), plans)
    assert (read_question(run).planned, read_question(run).left) == (2, ())
