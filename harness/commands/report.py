"""
`powercut report`: write a run's pages again from disk, no guest.

In:       a run's folder.
Out:      its pages; the exit status.
Not here: the pages (reports/).
"""

import argparse
from pathlib import Path

from harness.commands import fstests, perf
from harness.commands.arguments import read_question_of, report_page
from harness.evidence.store import NoResults, only_one, reading
from harness.evidence.summary import EXIT_HOLDS, experiments_missing, shown, status_of
from harness.runs.run import finish, write_pages
from reports.results import read_summary


def add_report(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="folder of a run, such as results/latest")
    command.add_argument("--quiet", action="store_true", help="do not print where the page is")


def command_report(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.run
    read_question_of(folder)
    if perf.page_again(folder):
        if not arguments.quiet:
            print(Path(shown(folder)) / "report" / "perf.html")
        return 0
    if found := fstests.again(folder):
        if not arguments.quiet:
            print(report_page(folder))
        return found.exit
    if not (folder / "summary.json").exists():
        raise NoResults(
            f"{folder} has no summary.json, because the run was stopped. Continue it: powercut "
            f"run --resume {folder}"
        )
    with reading(folder), only_one(folder):
        before = read_summary(folder)
        if experiments_missing(folder) and before.exit == EXIT_HOLDS:  # what was there then is gone
            finish(folder, before.rates.get("wall_s", 0.0), before.rates.get("guest_boots", 0))
        else:
            write_pages(folder)
    if not arguments.quiet:
        print(report_page(folder))
    return status_of(folder, EXIT_HOLDS)
