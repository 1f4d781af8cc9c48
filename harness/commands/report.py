"""
`powercut report`: write a run's pages again from disk, no guest.

In:       a run's folder.
Out:      its pages; the exit status.
Not here: the pages (reports/).
"""

import argparse
from pathlib import Path

from harness.commands import perf
from harness.commands.arguments import read_question_of, report_page
from harness.evidence.store import NoResults, reading
from harness.evidence.summary import (
    shown,
)
from harness.runs.run import write_pages


def add_report(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="a run's folder, as results/latest")
    command.add_argument("--quiet", action="store_true")


def command_report(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.run
    read_question_of(folder)
    if perf.page_again(folder):
        if not arguments.quiet:
            print(Path(shown(folder)) / "report" / "perf.html")
        return 0
    if not (folder / "summary.json").exists():
        raise NoResults(f"{folder}: no summary.json; the run was stopped: powercut run --resume {folder}")
    with reading(folder):
        write_pages(folder)
    if not arguments.quiet:
        print(report_page(folder))
    return 0
