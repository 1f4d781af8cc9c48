"""What is to be shown again is found, rebuilt, and told."""

from pathlib import Path

import pytest

from harness.evidence.store import NoResults, new_run, write_summary
from harness.evidence.summary import sum_up
from harness.findings import repro as subject
from harness.findings.repro import describe, is_finding, locate, repro, status
from harness.stages.judge import decode
from harness.tests.made_run import ENTRY_COUNT, FLUSHED, judged, keep, question, seen
from oracles.spec import State
from oracles.verdict import Answer, Tier, Verdict
from reports.results import read_experiment


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Experiment 2 lost foo in its last state."""
    run = new_run(tmp_path)
    question(run)
    keep(run, 1)
    keep(run, 2, judge=judged({ENTRY_COUNT: seen(0)}))
    write_summary(run, sum_up(run, 1.0))
    return run


def test_a_finding_leads_to_its_witness(run: Path) -> None:
    place = locate(run, "F1", "")
    assert (place.folder, place.state) == (run / "experiments/0002", f"O:{ENTRY_COUNT}")
    assert place.signature.startswith("btrfs durable: ")


def test_without_a_name_it_is_the_first_finding(run: Path) -> None:
    assert locate(run, "", "") == locate(run, "F1", "")


def test_another_state_of_a_findings_experiment_can_be_named(run: Path) -> None:
    assert locate(run, "F1", "O:2").state == "O:2"


def test_an_experiments_folder_and_a_state_are_enough(run: Path) -> None:
    assert locate(run / "experiments/0001", "", "O:3") == subject.Shown(run / "experiments/0001", "O:3", "")


@pytest.mark.parametrize(
    ("place", "finding", "state", "message"),
    [
        (".", "F9", "", "there is no finding F9. The findings are F1"),
        (".", "", "O:1", "2 experiments. Name one of them, such as .*0001 --state O:1"),
        ("experiments/0001", "", "", "Name a state of it, such as --state O:12"),
        ("experiments", "", "", "neither the folder of a run .* nor of an experiment"),
        ("nowhere", "F1", "", "neither the folder of a run .* nor of an experiment"),
    ],
)
def test_what_cannot_be_found_is_told(run: Path, place: str, finding: str, state: str, message: str) -> None:
    with pytest.raises(NoResults, match=message):
        locate(run / place, finding, state)


def test_a_run_without_finding_asks_for_a_state(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    question(run)
    keep(run)
    write_summary(run, sum_up(run, 1.0))
    with pytest.raises(NoResults, match=r"has no findings\. Name a state"):
        locate(run, "", "")
    assert locate(run, "", "O:4").state == "O:4"


@pytest.mark.parametrize(
    ("word", "answer"), [("F1", True), ("F12", True), ("F", False), ("f1", False), ("O:1", False)]
)
def test_findings_have_names_of_their_own(word: str, answer: bool) -> None:
    assert is_finding(word) is answer


def test_a_disk_is_rebuilt_from_base_and_log(run: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    folder = run / "experiments/0001"
    image = subject._rebuild(folder, State(2), read_experiment(folder), tmp_path / "scratch").read_bytes()
    wanted = bytearray(len(image))
    for entry in FLUSHED[:2]:
        wanted[entry.sector * 512 : (entry.sector + 1) * 512] = b"\1" * 512
    assert image == wanted


def test_a_file_of_the_user_is_not_overwritten_and_nothing_is_built(run: Path, monkeypatch) -> None:
    monkeypatch.setattr(subject, "build_for", lambda *_: pytest.fail("built"))
    (run / "mine").touch()
    with pytest.raises(NoResults, match="already exists"):
        repro(locate(run, "F1", ""), run / "mine", False)


def test_what_was_never_recorded_cannot_be_shown(run: Path) -> None:
    keep(run, 3, trouble="recording: no guest", recorded=False)
    with pytest.raises(NoResults, match="has no recording: recording: no guest"):
        repro(locate(run / "experiments/0003", "", "O:0"), None, False)


def told(run: Path, prefix: int, **instead: object) -> str:
    experiment = read_experiment(run / "experiments/0002")
    judgement = experiment.judgement
    verdicts = judgement.verdict_sets[judgement.states[prefix].verdict_set]
    observation = decode(seen(0, **instead))
    return "\n".join(describe(experiment, State(prefix), "a signature", observation, verdicts, None))


@pytest.mark.parametrize(
    ("prefix", "line"),
    [(0, "here"), (1, "during the next operation"), (3, "here"), (4, "during the next operation")],
)
def test_the_line_of_the_power_failure_stands_where_it_was(run: Path, prefix: int, line: str) -> None:
    text = told(run, prefix)
    assert text.count("power fails") == 1
    cut = next(n for n, words in enumerate(text.splitlines()) if f"power fails {line}" in words)
    assert text.splitlines()[cut + 1].split()[0] == ("creat" if prefix < 3 else "fsync")


def test_after_the_last_operation_the_power_fails_at_the_end(run: Path) -> None:
    assert told(run, ENTRY_COUNT).index("fsync foo") < told(run, ENTRY_COUNT).index("power fails here")


def test_a_broken_promise_is_told_with_expected_and_found(run: Path) -> None:
    text = told(run, ENTRY_COUNT)
    for word in (
        "finding: a signature",
        "durable     BROKEN",
        "expected: ",
        "found: ",
        "promise: ",
        "[tier ",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("instead", "line"),
    [
        ({"trouble": "no memory"}, "Powercut itself failed: no memory"),
        ({"death": "panic", "death_during": "mount"}, "did not survive: panic during mount"),
        ({"tree": None, "mount_errno": 5}, "mount failed: Input/output error"),
        ({"kernel_log": ("3 BTRFS error", "6 quiet")}, "kernel log:\n    BTRFS error"),
    ],
)
def test_what_came_back_is_told(run: Path, instead: dict, line: str) -> None:
    assert line in told(run, 2, **instead)


@pytest.mark.parametrize(
    ("answers", "exit_status"),
    [
        ((), 3),
        ((Answer.HOLDS,), 0),
        ((Answer.HOLDS, Answer.UNKNOWN), 3),
        ((Answer.UNKNOWN, Answer.BROKEN), 1),
    ],
)
def test_the_exit_status_is_that_of_the_worst_verdict(answers: tuple[Answer, ...], exit_status: int) -> None:
    assert status(tuple(Verdict("mounts", Tier.FS, answer) for answer in answers)) == exit_status
