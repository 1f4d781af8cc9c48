"""
What tests of the command line share.

In:       nothing.
Out:      the fixture `powercut`.
Not here: the folder they run in and what is made up for them (each file has its own).
"""

from collections.abc import Callable

import pytest

from harness import main

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
