"""Long work is seen to go on."""

import pytest

from harness.experiments.experiment import Outcome
from harness.local import progress as subject
from harness.local.progress import PLAIN_EVERY_S, Progress, kernel_in_short


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(subject, "time", clock)
    return clock


def outcome(number: int, trouble: str = "") -> Outcome:
    return Outcome(number, trouble)


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    with Progress(quiet=True) as progress:
        progress.building("6.12")("compile", 0.5)
        progress.experiments(1, 2)
        clock.now_s += 100
        progress.states(5)
        progress.done(outcome(1, "guest lost"))
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_a_line_comes_now_and_then(capsys, clock: Clock) -> None:
    with Progress() as progress:
        progress.experiments(4, 4)
        for _ in range(100):
            clock.now_s += PLAIN_EVERY_S / 50
            progress.states(10)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "0 of 4 experiments, 500 states judged, 50/s",
        "0 of 4 experiments, 1,000 states judged, 50/s",
    ]


def test_a_line_tells_how_long_it_will_take(capsys, clock: Clock) -> None:
    with Progress() as progress:
        progress.experiments(4, 4)
        clock.now_s += 20
        progress.done(outcome(1))
    assert capsys.readouterr().err == "1 of 4 experiments, 0 states judged, 0/s, about 60 s left\n"


def test_what_was_done_before_is_told(capsys, clock: Clock) -> None:
    with Progress() as progress:
        progress.experiments(1, 3)
    assert capsys.readouterr().err == "2 of 3 experiments are already done\n"


def test_an_experiment_in_trouble_is_told_at_once(capsys, clock: Clock) -> None:
    with Progress() as progress:
        progress.experiments(2, 2)
        progress.done(outcome(2, "recording: log device overflowed"))
    assert capsys.readouterr().err == "experiment 2: recording: log device overflowed\n"


def test_each_stage_of_a_build_has_its_line_and_a_long_one_some_more(capsys, clock: Clock) -> None:
    with Progress() as progress:
        tell = progress.building("6.12")
        for stage in ("unpack", "compile 1", "compile 2", "compile 3"):
            clock.now_s += PLAIN_EVERY_S / 8
            tell(stage, 0.5)
        tell("built", 1.0)
    assert capsys.readouterr().err.splitlines() == [
        "kernel 6.12: unpack (50 %)",
        "kernel 6.12: compile 1 (50 %)",
        "kernel 6.12: compile 3 (50 %)",
    ]


def test_of_a_kernel_with_many_series_the_line_says_how_many(capsys):
    """Attribution builds one with all fixes of a filesystem."""
    with Progress() as progress:
        progress.building("6.12+fix/a+fix/b+fix/c")("compiling", 0.5)
        progress.line(kernel_in_short("6.12+fix/a+fix/b"))
    assert capsys.readouterr().err.splitlines() == [
        "kernel 6.12 with 3 series: compiling (50 %)",
        "6.12+fix/a+fix/b",
    ]


def test_of_a_kernel_with_variants_the_line_names_them(capsys):
    """A run with --stops builds a kernel, and the same again with the variant."""
    with Progress() as progress:
        progress.building("6.12", ("stops", "xfs-debug"))("compiling", 0.5)
    assert capsys.readouterr().err.splitlines() == ["kernel 6.12 (stops, xfs-debug): compiling (50 %)"]
