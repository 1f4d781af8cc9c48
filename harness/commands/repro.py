"""
`powercut repro`: show one state again, or record a finding's witness again and again.

In:       a run or an experiment, a finding or a state.
Out:      what was expected and found; the exit status.
Not here: rebuilding and recovering the state (findings/repro.py), the recordings (runs/reruns.py).
"""

import argparse
from pathlib import Path

from harness.commands.arguments import add_guest, positive
from harness.commands.kernel import config_option
from harness.evidence.store import NoResults
from harness.evidence.summary import (
    EXIT_BROKEN,
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    status_of,
)
from harness.findings.repro import is_finding, locate, repro
from harness.local.progress import Progress
from harness.runs.reruns import rerun_one
from harness.runs.run import write_pages
from reports.text.reruns import rerun_words


def add_repro(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "run", metavar="DIR", type=Path, help="folder of a run, or of one of its experiments"
    )
    command.add_argument(
        "finding",
        metavar="FINDING",
        nargs="?",
        default="",
        help="number of a finding, such as F1 (default: the first)",
    )
    command.add_argument(
        "--state", default="", metavar="SPEC", help="a state, such as O:12 (default: the one of the finding)"
    )
    config_option(command)
    command.add_argument(
        "--keep", type=Path, metavar="FILE", help="keep an image of the disk before recovery"
    )
    add_guest(command, None, "as in the run")
    command.add_argument("--shell", action="store_true", help="open a shell in the guest that has the disk")
    command.add_argument(
        "--times",
        type=positive,
        metavar="N",
        help="record the workload N times again, on this kernel and on the stock one",
    )


def command_repro(arguments: argparse.Namespace) -> int:
    finding = arguments.finding
    if finding and not is_finding(finding):
        raise NoResults(f"{finding} is not the name of a finding. The names are F1, F2, ...")
    if arguments.times:
        return command_repeat(arguments)
    shown_again = locate(arguments.run, finding, arguments.state)
    return repro(shown_again, arguments.keep, arguments.shell, arguments.config, arguments.guest or "")


def command_repeat(arguments: argparse.Namespace) -> int:
    """1 when it was seen again on its own kernel, 0 when not, 3 when it could not be examined."""
    with Progress() as progress:
        finding, _ = rerun_one(arguments.run, arguments.finding, arguments.times, progress)
        write_pages(arguments.run)
    repeats = finding.after.repeats
    print(f"{finding.id} {finding.signature}: {rerun_words(repeats)}")
    if any(repeat.trouble for repeat in repeats):
        return EXIT_UNKNOWN
    return EXIT_BROKEN if repeats[0].shown else status_of(arguments.run, EXIT_HOLDS)
