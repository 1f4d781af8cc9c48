"""
`powercut bisect`: the commit that broke a promise.

In:       the arguments.
Out:      the exit status.
Not here: the search (bisect/bisect.py).
"""

import argparse

from harness.bisect.bisect import hunt, run_words, step_status
from harness.commands.run import run_spec_of
from harness.runs.run import RunSpec


def command_bisect(arguments: argparse.Namespace) -> int:
    def step_run_spec(command: tuple[str, ...], kernel: str) -> RunSpec:
        """The options it was started with, on this kernel."""
        words = run_words(command, kernel)
        return run_spec_of(arguments.understood(words))

    if arguments.step:
        return step_status(arguments.step, step_run_spec)
    return hunt(arguments, step_run_spec)
