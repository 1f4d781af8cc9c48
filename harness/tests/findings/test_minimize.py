"""minimize: each step is asked of a guest, within a budget; what is new is repeated. No guest is real."""

import argparse
import contextlib
from pathlib import Path

import msgspec
import pytest

from harness.commands import minimize as command
from harness.commands.minimize import command_minimize
from harness.evidence.summary import sum_up
from harness.evidence.triage import find, learnt
from harness.experiments import interestingness as interesting
from harness.experiments.examination import Judged
from harness.experiments.interestingness import Answered, InterestingnessTest, Target, Trigger, trigger_of
from harness.findings import minimize as subject
from harness.findings.minimize import (
    BudgetSpent,
    NotShown,
    Question,
    Reduction,
    Tried,
    minimize,
    models_up_to,
    run_spec_of,
    with_header,
)
from harness.guests.spec import GuestSpec
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs import reruns as repeats
from harness.runs.reruns import repeated, rerun_new
from harness.stages.record import Recording
from harness.tests.made_run import BLOCK_NAME, keep_damages, keep_faults
from oracles.faults.damage import split
from oracles.profiles import profile
from oracles.spec import Damage
from oracles.verdict import Answer, Tier, Verdict, Violation
from reports.results import DAMAGE, FAULTS, Repeat, read_experiment, read_summary
from workloads.shrinking import lines_of, operation_count
from workloads.text import parse
from workloads.workload import Workload

SIGNATURE = "btrfs durable: name lost (fsynced file)"
SPEC = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 1 << 20)
WORKLOAD = parse("setup\n  mkdir A\n  write A/foo 0 64K\nrun\n  creat bar\n  fsync A/foo\n  fsync bar\n")


class FakeTest:
    """Shows the signature, or what it is told to, wherever a file is fsynced that was made before."""

    def __init__(self, subject: object = None, space: object = None) -> None:
        self.recordings = 0
        self.troubles = 0
        self.never = False

    def __enter__(self) -> "FakeTest":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def examine(self, workload: Workload) -> Answered:
        self.recordings += 1
        if self.troubles:
            self.troubles -= 1
            return Answered({}, trouble="no guest")
        made = {op.path for op in (*workload.setup, *workload.run) if op.word in ("write", "creat")}
        shown = any(op.word == "fsync" and op.path in made for op in workload.run)
        return Answered({SIGNATURE: f"O:{3 * len(workload.run)}"} if shown and not self.never else {}, 9)


def asker(budget: int = 100) -> tuple[FakeTest, Question]:
    fake = FakeTest()
    return fake, Question(fake, SIGNATURE, budget, Progress(quiet=True))  # type: ignore[arg-type]


def test_a_question_remembers_the_state_of_the_last_yes() -> None:
    _, ask = asker()
    assert ask(WORKLOAD)
    assert ask.state == "O:9"
    assert not ask(parse("run\n  mkdir A\n"))
    assert ask.state == "O:9"


def test_a_spent_budget_ends_it() -> None:
    _, ask = asker(2)
    ask(WORKLOAD)
    ask(WORKLOAD)
    with pytest.raises(BudgetSpent):
        ask(WORKLOAD)
    assert ask.asked == 2


def test_what_shows_itself_only_sometimes_gets_several_chances() -> None:
    fake, ask = asker()
    fake.troubles = 3
    ask.first(WORKLOAD)
    assert fake.recordings == 4
    assert not ask(parse("run\n  mkdir A\n"))
    assert fake.recordings == 8
    assert ask(WORKLOAD)
    assert fake.recordings == 9


def test_what_is_shown_only_now_and_then_is_no_step() -> None:
    """The first workload showed it every time: a smaller one that races must not take its place."""
    fake = FakeTest()
    ask = Question(fake, SIGNATURE, 100, Progress(quiet=True), yeses=3)  # type: ignore[arg-type]
    ask.first(WORKLOAD)
    assert ask(WORKLOAD)
    assert fake.recordings == 4
    told = [True, True, False]
    result = fake.examine(WORKLOAD)
    fake.examine = lambda _: result if told.pop(0) else Answered({}, 9)  # type: ignore[method-assign]
    assert not ask(WORKLOAD)
    assert not told


def test_a_workload_in_which_more_operations_fail_is_no_step() -> None:
    """In a workload as found they may; fewer are better."""
    fake, ask = asker()
    failed = [1, 2, 0, 1]
    fake.examine = lambda _: Answered({SIGNATURE: "O:1"}, failed=failed.pop(0))  # type: ignore[method-assign]
    ask.first(WORKLOAD)
    assert [ask(WORKLOAD) for _ in range(3)] == [False, True, False]


class Stock(FakeTest):
    """Shows it, too, when nothing but the two calls is left."""

    def examine(self, workload: Workload) -> Answered:
        self.recordings += 1
        return Answered({SIGNATURE: "O:3"} if operation_count(workload) <= 2 else {}, 9)


def test_what_the_stock_kernel_shows_is_another_bug() -> None:
    """The same signature, and not what the series does."""
    small, larger = (
        parse("run\n  creat foo\n  fsync foo\n"),
        parse("run\n  creat foo\n  creat bar\n  fsync foo\n"),
    )
    fake, stock = FakeTest(), Stock()
    ask = Question(fake, SIGNATURE, 100, Progress(quiet=True), stock)  # type: ignore[arg-type]
    ask.first(WORKLOAD)
    assert ask(larger)
    assert not ask(small)
    assert (fake.recordings, stock.recordings, ask.asked) == (3, 3, 6)
    of_both = Question(fake, SIGNATURE, 100, Progress(quiet=True), Stock())  # type: ignore[arg-type]
    of_both.first(small)
    assert of_both(small)


def test_what_does_not_come_again_is_said() -> None:
    fake, ask = asker()
    fake.never = True
    with pytest.raises(NotShown, match="did not appear again in 5 recordings"):
        ask.first(WORKLOAD)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is built, and no guest booted."""
    for module in (subject, repeats):
        monkeypatch.setattr(module, "build_for", lambda *_: "a kernel")
        monkeypatch.setattr(module, "spec_of", lambda *_: None)
        monkeypatch.setattr(module, "InterestingnessTest", FakeTest)
        monkeypatch.setattr(module, "source_word", lambda word: word.partition("+")[0])
    monkeypatch.setattr(repeats, "find_built", lambda *_: None)


def test_a_workload_becomes_small(run: Path, made_up: None) -> None:
    finding, experiment = find(run, "F1")
    assert finding.signature == SIGNATURE
    steps, asked = minimize(finding, experiment, 100, Progress(quiet=True))
    assert experiment.history is not None
    assert steps[0].workload == experiment.history.workload
    assert lines_of(steps[-1].workload) == ["creat foo", "fsync foo"]
    assert (steps[-1].state, asked > 1) == ("O:6", True)


@pytest.mark.parametrize(
    ("first", "shown", "taken"),
    [
        ((5,), (5, 5, 5), 2),
        ((5,), (4, 5, 5), 1),
        ((5,), (-1, 3, 4), 0),
        ((5,), (-1, 3, 2), 1),
        ((2,), (2, 5, 5), 2),
        ((), (4, 5, 5), 1),
    ],
)
def test_a_step_that_shows_it_less_often_is_taken_back(
    run: Path, made_up: None, monkeypatch: pytest.MonkeyPatch, first, shown, taken: int
) -> None:
    """Runs of the steps from the smallest on give `shown`; without a steady one, the best of them."""
    finding, _ = find(run, "F1")
    before = tuple(Repeat("test", count, 5, True) for count in first)
    learnt(run, finding, msgspec.structs.replace(finding.after, repeats=before))
    steps = [Reduction(parse(f"run\n  creat foo{n}\n"), f"O:{n}") for n in range(3)]
    left = list(shown)

    def again(finding, _, step, *__) -> Tried:
        repeats = (Repeat("test", max(left[0], 0), 5, True),)
        after = msgspec.structs.replace(finding.after, repeats=repeats)
        found = msgspec.structs.replace(finding, after=after)
        return Tried(step, run, found if left.pop(0) >= 0 else None)

    concluded = []
    monkeypatch.setattr(command, "minimize", lambda *_: (steps, 9))
    monkeypatch.setattr(command, "run_again", again)
    monkeypatch.setattr(command, "conclude", lambda *words: concluded.append(words[2].step) or 0)
    words = argparse.Namespace(run=run, finding="F1", budget=9, out=run.parent, quiet=True)
    assert command_minimize(words) == 0
    assert concluded == [steps[taken]]
    assert (run.parent / "latest").resolve() == run.resolve()


def test_the_budget_bounds_the_recordings(run: Path, made_up: None) -> None:
    finding, experiment = find(run, "F1")
    _, asked = minimize(finding, experiment, 2, Progress(quiet=True))
    assert asked == 2


def test_the_header_says_where_it_comes_from(run: Path) -> None:
    finding, experiment = find(run, "F1")
    named = with_header(parse("# config: debug\nrun\n  creat foo\n"), finding, experiment, run, 7)
    assert named.name == "minimal"
    assert named.comment[0] == f"The smallest workload that shows: {SIGNATURE}"
    assert f"finding F1 of {run.name}" in named.comment[1]
    assert "2 operations became 1 in 7 recordings" in named.comment[3]


def test_new_findings_are_repeated_and_known_ones_are_not(run: Path, made_up: None) -> None:
    summary = rerun_new(run, read_summary(run), Progress(quiet=True))
    assert summary.findings[0].after.repeats == (Repeat("test", 5, 5, True),)
    assert sum_up(run, 1.0).findings[0].after == summary.findings[0].after
    again = rerun_new(run, summary, Progress(quiet=True))
    assert again == summary


@pytest.mark.parametrize(
    ("build_stock", "found"),
    [(True, [("test+fix", False), ("test", True)]), (False, [("test+fix", False)])],
)
def test_the_stock_kernel_is_built_only_when_it_was_asked_for(
    run: Path, made_up: None, build_stock: bool, found: list[tuple[str, bool]]
) -> None:
    """In a run it is used when it is there."""
    _, experiment = find(run, "F1")
    facts = msgspec.structs.replace(experiment.facts, kernel="test+fix")
    patched = msgspec.structs.replace(experiment, facts=facts)
    (told,) = repeated(patched, [SIGNATURE], 2, Progress(quiet=True), build_stock).values()
    assert [(one.kernel, one.stock) for one in told] == found
    assert all((one.shown, one.times) == (2, 2) for one in told)


def test_trouble_of_ours_is_told_beside_the_count(run: Path, made_up: None, monkeypatch) -> None:
    monkeypatch.setattr(FakeTest, "examine", lambda *_: Answered({}, trouble="no guest"))
    _, experiment = find(run, "F1")
    (told,) = repeated(experiment, [SIGNATURE], 2, Progress(quiet=True), True).values()
    assert told == (Repeat("test", 0, 2, True, "no guest"),)


# --- a device that fails, damage at rest


def test_a_fault_is_looked_for_at_every_point_of_its_kind(tmp_path: Path) -> None:
    finding, experiment = find(keep_faults(tmp_path), "F1")
    assert trigger_of(finding, experiment) == Trigger(FAULTS, fault="error-writes")
    assert models_up_to(finding) == ("O",)


def test_a_damage_is_looked_for_as_it_was_and_in_blocks_of_that_name(tmp_path: Path) -> None:
    finding, experiment = find(keep_damages(tmp_path), "F1")
    assert trigger_of(finding, experiment) == Trigger(
        DAMAGE, damage=split(finding.state)[1], block=BLOCK_NAME
    )
    died = msgspec.structs.replace(finding, oracle="alive", role="tree-log.c")
    told = trigger_of(died, experiment)
    assert told is not None
    assert told.block == ""


def test_a_crash_state_needs_nothing_like_that(run: Path) -> None:
    assert trigger_of(*find(run, "F1")) is None


@pytest.mark.parametrize(("make", "kind"), [(keep_faults, FAULTS), (keep_damages, DAMAGE)])
def test_the_smallest_workload_is_run_as_the_first_was(tmp_path: Path, make, kind: str) -> None:
    """With the damage that minimize saw last: what is drawn of another log may leave it out."""
    finding, experiment = find(make(tmp_path), "F1")
    run_spec = run_spec_of(finding, experiment, WORKLOAD, [], "D:O:3/77^5" if kind == DAMAGE else "F:delay@2")
    assert run_spec.kind == kind
    assert run_spec.damages == ((Damage(77, bit=5),) if kind == DAMAGE else ())


def test_a_subject_of_another_kind_is_asked_until_all_signatures_were_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no further: each state costs a recovery."""
    first = Violation("data lost untold", "fsynced file", "foo", "", "", "", Tier.POSIX)
    other = Violation("name lost untold", "fsynced file", "foo", "", "", "", Tier.POSIX)
    told = [Verdict("told", Tier.FS, Answer.BROKEN, 1, (each,)) for each in (other, first)]
    asked = []

    def look(*_: object):
        for number, verdict in enumerate((*told, *told)):
            asked.append(number)
            yield Judged(f"F:delay@{number}", (verdict,))

    one = Target(
        "6.12",
        SPEC,
        profile("btrfs"),
        Tier.FS,
        ("btrfs told: data lost untold (fsynced file)",),
        trigger=Trigger(FAULTS, fault="delay"),
    )
    with workspace() as space:
        history = read_experiment(keep_faults(tmp_path / "run") / "experiments" / "0001").history
        assert history is not None
        recording = Recording(tmp_path, tmp_path, history, {}, ())
        monkeypatch.setattr(interesting, "recorded", lambda *_: contextlib.nullcontext((recording, [0] * 7)))
        monkeypatch.setattr(InterestingnessTest, "_judged", look)
        result = InterestingnessTest(one, space).examine(WORKLOAD)
    assert result == Answered({"btrfs told: data lost untold (fsynced file)": "F:delay@1"}, 7)
    assert asked == [0, 1]


def test_no_model_is_asked_for_what_a_simpler_one_showed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = []

    class OneState:
        def __init__(self, *words: object) -> None:
            models.append(words[3].models)  # type: ignore[attr-defined]

        def judged(self) -> list[Judged]:
            first = Violation("data lost", "fsynced file", "foo", "", "", "", Tier.POSIX)
            verdict = Verdict("durable", Tier.FS, Answer.BROKEN, 1, (first,))
            return [Judged("O:3", (verdict,) if len(models) == 2 else ())]

    monkeypatch.setattr(interesting, "crash_states", OneState)
    history = read_experiment(keep_faults(tmp_path / "run") / "experiments" / "0001").history
    assert history is not None
    recording = Recording(tmp_path, tmp_path, history, {}, ())
    monkeypatch.setattr(interesting, "recorded", lambda *_: contextlib.nullcontext((recording, [0] * 7)))
    name = "btrfs durable: data lost (fsynced file)"
    one = Target("6.12", SPEC, profile("btrfs"), Tier.FS, (name,), ("O", "R", "T"))
    with workspace() as space:
        assert InterestingnessTest(one, space).examine(WORKLOAD).first == {name: "O:3"}
    assert models == [("O",), ("R",)]
