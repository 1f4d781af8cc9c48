"""
`powercut coverage`: which lines of a kernel, and of its series, the workloads execute.

In:       the arguments of run, or the folder of a run that counted.
Out:      lines, and the page of the run; the exit status of the run.
Not here: how it is found out (runs/coverage.py), the run itself (run.py).
"""

import argparse
import sys
from pathlib import Path

from harness.commands.arguments import read_question_of, report_page
from harness.commands.run import add_run, run_spec_of
from harness.evidence.store import NoResults, reading
from harness.local.progress import Progress
from harness.runs.run import run
from kernel.fragments import check_variants
from kernel.profiling import VARIANT
from reports.coverage.lines import coverage_lines
from reports.coverage.results import FILE, patch_ran, read_coverage
from reports.results import read_summary
from reports.text.coverage import patch_lines
from workloads.library import BadSelection

PAGE = "coverage.html"
EVERY = "*"


def add_coverage(command: argparse.ArgumentParser) -> None:
    add_run(command)
    command.add_argument("--html", action="store_true", help="print only the path of the page")


def command_coverage(arguments: argparse.Namespace) -> int:
    """Errors: BadSelection, NoResults, NotCounted, and those of run()."""
    if len(arguments.workloads) == 1 and Path(arguments.workloads[0], "run.json").exists():
        return tell(Path(arguments.workloads[0]), arguments)
    if arguments.resume:
        arguments = as_begun(arguments)
    if arguments.cross_check or arguments.planted:
        raise BadSelection("coverage: --cross-check and --planted are for run. Leave them out")
    if not arguments.workloads and arguments.keyword is None and arguments.generate is None:
        arguments.workloads = [EVERY]
    arguments.config = check_variants((*arguments.config, VARIANT))
    with Progress(arguments.quiet or arguments.json or arguments.html) as progress:
        folder, _ = run(run_spec_of(arguments), arguments.out, progress, arguments.resume)
    return tell(folder, arguments)


def as_begun(arguments: argparse.Namespace) -> argparse.Namespace:
    """The question is the one the run was started with. Errors: NoResults."""
    folder: Path = arguments.resume
    words = list(read_question_of(folder).command[1:])
    original: argparse.Namespace = arguments.understood(words)
    if original.command != "coverage":
        raise NoResults(
            f"{folder} was made by powercut {original.command}: continue it with that, or start a new run"
        )
    for name in ("resume", "quiet", "json", "html"):
        setattr(original, name, getattr(arguments, name))
    return original


def tell(folder: Path, arguments: argparse.Namespace) -> int:
    with reading(folder):
        report, status = read_coverage(folder), read_summary(folder).exit
    if report is None:
        raise NoResults(
            f"{folder} has no {FILE}: its kernels do not count what they execute, or nothing was recorded. "
            "powercut coverage takes what run takes, and makes such a run"
        )
    page = report_page(folder).with_name(PAGE)
    if arguments.html:
        print(page)
    elif arguments.json:
        sys.stdout.buffer.write((folder / FILE).read_bytes())
    else:
        for one in report.kernels:
            print("\n".join(coverage_lines(one)))
            if ran := patch_ran(one):
                print("\n".join(["", *patch_lines(ran)]))
            print()
        print(f"page: {page}")
        print("the verdicts of this run: its index.html, beside the page")
    return status
