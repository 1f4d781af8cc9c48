"""minimize: each step is asked of a guest, within a budget; what is new is repeated. No guest is real."""

from pathlib import Path

import msgspec
import pytest

from harness import minimize as subject
from harness import repeats
from harness.examiner import Sight
from harness.followups import find
from harness.minimize import BudgetSpent, NotShown, Question, minimize, with_header
from harness.progress import Progress
from harness.repeats import repeat_new, repeated
from harness.summing import sum_up
from reports.results import Repeat, read_summary
from workloads.shrinking import lines_of
from workloads.text import parse
from workloads.workload import Workload

SIGNATURE = "btrfs durable: name lost (fsynced file)"
WORKLOAD = parse("setup\n  mkdir A\n  write A/foo 0 64K\nrun\n  creat bar\n  fsync A/foo\n  fsync bar\n")


class FakeExaminer:
    """Shows the signature, or what it is told to, wherever a file is fsynced that was made before."""

    def __init__(self, subject: object = None, space: object = None) -> None:
        self.recordings = 0
        self.troubles = 0
        self.never = False

    def __enter__(self) -> "FakeExaminer":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def examine(self, workload: Workload) -> Sight:
        self.recordings += 1
        if self.troubles:
            self.troubles -= 1
            return Sight({}, trouble="no guest")
        made = {op.path for op in (*workload.setup, *workload.run) if op.word in ("write", "creat")}
        shown = any(op.word == "fsync" and op.path in made for op in workload.run)
        return Sight({SIGNATURE: f"O:{3 * len(workload.run)}"} if shown and not self.never else {}, 9)


def asker(budget: int = 100) -> tuple[FakeExaminer, Question]:
    examiner = FakeExaminer()
    return examiner, Question(examiner, SIGNATURE, budget, Progress(quiet=True))  # type: ignore[arg-type]


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
    examiner, ask = asker()
    examiner.troubles = 3
    ask.first(WORKLOAD)
    assert examiner.recordings == 4
    assert not ask(parse("run\n  mkdir A\n"))
    assert examiner.recordings == 8
    assert ask(WORKLOAD)
    assert examiner.recordings == 9


def test_what_does_not_come_again_is_said() -> None:
    examiner, ask = asker()
    examiner.never = True
    with pytest.raises(NotShown, match="not seen again in 5 recordings"):
        ask.first(WORKLOAD)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is built, and no guest booted."""
    for module in (subject, repeats):
        monkeypatch.setattr(module, "build", lambda *_: "a kernel")
        monkeypatch.setattr(module, "spec_of", lambda *_: None)
        monkeypatch.setattr(module, "Examiner", FakeExaminer)
    monkeypatch.setattr(repeats, "find_built", lambda *_: None)
    monkeypatch.setattr(repeats, "source_word", lambda word: word.partition("+")[0])


def test_a_workload_becomes_small(run: Path, made_up: None) -> None:
    finding, experiment = find(run, "F1")
    assert finding.signature == SIGNATURE
    smallest, state, asked = minimize(finding, experiment, 100, Progress(quiet=True))
    assert lines_of(smallest) == ["creat foo", "fsync foo"]
    assert (state, asked > 1) == ("O:6", True)


def test_the_budget_bounds_the_recordings(run: Path, made_up: None) -> None:
    finding, experiment = find(run, "F1")
    _, _, asked = minimize(finding, experiment, 2, Progress(quiet=True))
    assert asked == 2


def test_the_header_says_where_it_comes_from(run: Path) -> None:
    finding, experiment = find(run, "F1")
    named = with_header(parse("# config: debug\nrun\n  creat foo\n"), finding, experiment, run, 7)
    assert named.name == "minimal"
    assert named.comment[0] == f"The least that shows: {SIGNATURE}"
    assert f"finding F1 of {run.name}" in named.comment[1]
    assert "2 operations became 1 in 7 recordings" in named.comment[3]


def test_new_findings_are_repeated_and_known_ones_are_not(run: Path, made_up: None) -> None:
    summary = repeat_new(run, read_summary(run), Progress(quiet=True))
    assert summary.findings[0].after.repeats == (Repeat("test", 5, 5, True),)
    assert sum_up(run, 1.0).findings[0].after == summary.findings[0].after
    again = repeat_new(run, summary, Progress(quiet=True))
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
    monkeypatch.setattr(FakeExaminer, "examine", lambda *_: Sight({}, trouble="no guest"))
    _, experiment = find(run, "F1")
    (told,) = repeated(experiment, [SIGNATURE], 2, Progress(quiet=True), True).values()
    assert told == (Repeat("test", 0, 2, True, "no guest"),)
