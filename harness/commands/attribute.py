"""
`powercut attribute`: which known bug each finding is, where known.py does not name its workload.

In:       a run's folder.
Out:      its summary and pages anew; the exit status of the run.
Not here: how that is found out (runs/attribution.py).
"""

import argparse
from pathlib import Path

from harness.commands.arguments import read_question_of, report_page
from harness.evidence.store import only_one, reading
from harness.local.progress import Progress
from harness.runs.attribution import attribute
from harness.runs.run import finish
from reports.results import read_summary
from reports.terminal.terminal import summary_lines


def add_attribute(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="folder of a run, such as results/latest")
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def command_attribute(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.run
    question = read_question_of(folder)
    with reading(folder):
        rates = read_summary(folder).rates
    with only_one(folder):
        with Progress(arguments.quiet) as progress:
            attribute(folder, progress)
        summary = finish(folder, rates.get("wall_s", 0.0), rates.get("guest_boots", 0))
    print("\n".join(summary_lines(summary, question, report_page(folder))))
    return summary.exit
