"""
`powercut export`: a reproducer that needs none of this.

In:       a run, a finding, a form.
Out:      its files, tried on guests; the exit status.
Not here: the trial (findings/export.py), the programs (reports/programs/).
"""

import argparse
from pathlib import Path

import msgspec

from harness.evidence.store import write_whole
from harness.evidence.summary import EXIT_HOLDS, EXIT_UNKNOWN, shown, status_of
from harness.evidence.triage import find, learnt
from harness.findings.export import (
    default_name,
    files_of,
    require_tools,
    verified,
)
from harness.findings.reproducers import NoExport
from harness.fstests.check import require_checkout
from harness.local.progress import Progress
from harness.runs.run import write_pages
from reports.programs.export import FORMS


def add_export(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="folder of a run, such as results/latest")
    command.add_argument(
        "finding",
        metavar="FINDING",
        nargs="?",
        default="",
        help="number of a finding, such as F1 (default: the first)",
    )
    command.add_argument(
        "--to", choices=FORMS, required=True, help="a shell script, a C program, or a test for fstests"
    )
    command.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where to write it (default: exports/ in the folder of the run)",
    )
    command.add_argument(
        "--fstests",
        type=Path,
        metavar="DIR",
        help="a built checkout of fstests, whose ./check then runs the test in the guest",
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def command_export(arguments: argparse.Namespace) -> int:
    """Errors: NoResults, NoExport, KernelError, NoFilesystemTool, OSError."""
    finding, experiment = find(arguments.run, arguments.finding)
    if arguments.fstests and arguments.to != "fstests":
        raise NoExport(f"--fstests can be used only with --to fstests, not with --to {arguments.to}")
    if arguments.fstests:
        require_checkout(arguments.fstests)
    require_tools(arguments.to)
    with Progress(arguments.quiet) as progress:
        chosen, seen = verified(finding, experiment, arguments.to, arguments.fstests, arguments.run, progress)
    out = arguments.out or arguments.run / "exports" / default_name(chosen, finding, arguments.to)
    files = files_of(chosen, arguments.to, out.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_whole(out.parent / name, text.encode())
    out.chmod(0o755)
    place = str(out.relative_to(arguments.run)) if out.is_relative_to(arguments.run) else str(out.resolve())
    told = "; ".join(f"{one.kernel}: {'fails' if one.shows else 'passes'}" for one in seen)
    kept = (*(each for each in finding.after.exports if each[0] != place), (place, told))
    learnt(arguments.run, finding, msgspec.structs.replace(finding.after, exports=kept))
    write_pages(arguments.run)
    print(f"{shown(out)}: {finding.signature}")
    for one in seen:
        print(f"  on {one.kernel}: {'fails' if one.shows else 'passes'} ({one.said})")
    if len(seen) == 1:
        print(f"  {seen[0].kernel} is the stock kernel, so there is no kernel on which the program must pass")
    sure = all(one.shows is not None for one in seen)
    return status_of(arguments.run, EXIT_HOLDS if sure else EXIT_UNKNOWN)
