"""
`powercut minimize`: the smallest workload and state that show a finding.

In:       a run, a finding.
Out:      a run of the smallest workload; the exit status.
Not here: the search (findings/minimize.py).
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from harness.evidence.store import point_latest
from harness.evidence.triage import find, require_workload
from harness.findings.minimize import (
    BUDGET,
    Tried,
    conclude,
    is_steady,
    minimize,
    run_again,
)
from harness.local.progress import Progress
from harness.runs.reruns import TIMES
from reports.results import CRASH


def add_minimize(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="folder of a run, such as results/latest")
    command.add_argument(
        "finding",
        metavar="FINDING",
        nargs="?",
        default="",
        help="number of a finding, such as F1 (default: the first)",
    )
    command.add_argument(
        "--budget",
        type=positive,
        default=BUDGET,
        metavar="N",
        help=f"record at most this often (default: {BUDGET})",
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where the small run is stored (default: results)",
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def command_minimize(arguments: argparse.Namespace) -> int:
    """Errors: NoResults, NotShown, KernelError, NoFilesystemTool, LostGuest, OSError."""
    finding, experiment = find(arguments.run, arguments.finding)
    require_workload(arguments.run, experiment)
    tried: list[Tried] = []
    with Progress(arguments.quiet) as progress:
        steps, asked = minimize(finding, experiment, arguments.budget, progress)
        for step in reversed(steps if experiment.facts.kind == CRASH else steps[-1:]):
            if tried:
                progress.line(
                    f"shown in only {max(tried[-1].shown, 0)} of {TIMES} recordings, so the step before "
                    "it is tried"
                )
            tried.append(run_again(finding, experiment, step, asked, arguments, progress))
            if is_steady(tried[-1], finding):
                break
    best = max(tried, key=lambda one: one.shown)
    point_latest(best.folder)
    return conclude(arguments.run, finding, best, asked)
