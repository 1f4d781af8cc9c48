"""
What tests of the command line, and of what comes after a run, share.

In:       nothing.
Out:      the fixtures `powercut` and `run`.
Not here: the folder that commands run in and what is made up for them (each file has its own).
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.commands import main
from harness.evidence.store import new_run, write_summary
from harness.evidence.summary import sum_up
from harness.tests.made_run import ENTRY_COUNT, judged, keep, question, seen

Powercut = Callable[..., tuple[int, str, str]]


@pytest.fixture
def powercut(capsys: pytest.CaptureFixture[str]) -> Powercut:
    """Exit status, what was printed, and what was said on standard error by this process."""

    def call(*words: object) -> tuple[int, str, str]:
        try:
            exit_status = main.main([str(word) for word in words])
        except SystemExit as stop:
            exit_status = int(stop.code or 0)
        return exit_status, *capsys.readouterr()

    return call


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose one experiment lost foo in the last state, where the fsync had returned."""
    run = new_run(tmp_path)
    question(run)
    keep(run, 1, judge=judged({ENTRY_COUNT: seen(0)}))
    write_summary(run, sum_up(run, 1.0))
    return run
