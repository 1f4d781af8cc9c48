"""
`powercut nightly`: the branches of a file, tested and compared with the nights before.

In:       the arguments.
Out:      the last lines, or night.json; exit status 0 nothing new, 1 new findings, 2 bad input, 3 trouble.
Not here: the night (nightly/night.py), its file (nightly/file.py).
"""

import argparse
import sys
from pathlib import Path

import msgspec

from harness.commands.run import run_spec_of
from harness.evidence.store import NoResults
from harness.evidence.summary import EXIT_HOLDS, shown
from harness.local.progress import Progress
from harness.nightly.file import read
from harness.nightly.history import NAME, open_history
from harness.nightly.night import do_night
from harness.nightly.plan import candidates
from harness.nightly.results import last_lines, write_pages_again
from harness.runs.run import RunSpec
from reports.text.counting import duration, number


def add_nightly(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", metavar="FILE", type=Path, help="what is tested each night, such as nightly.toml"
    )
    command.add_argument(
        "--check",
        action="store_true",
        help="only read the file and say what it asks for; nothing is fetched, built or run",
    )
    command.add_argument(
        "--pages", action="store_true", help="only write the pages of all nights again, from the history"
    )
    command.add_argument(
        "--json", action="store_true", help="print night.json on standard output and nothing else"
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def command_nightly(arguments: argparse.Namespace) -> int:
    """Errors: BadNightFile, BadHistory, RunInUse, NoRoom, BadSelection, NoResults, OSError."""
    asked = read(arguments.file)

    def run_spec(words: list[str]) -> RunSpec:
        asked = run_spec_of(arguments.understood(words))
        return msgspec.structs.replace(asked, repeats=False, attribute=False)

    if arguments.check:
        workloads = candidates(asked.workloads)
        for kernel in asked.kernel:
            profiles = ", ".join(asked.profiles_of(kernel))
            where = f"{kernel.branch} of {kernel.tree}" if kernel.tree else f"Debian's {kernel.release}"
            print(f"kernel     {kernel.name}: {where}, on {profiles}, in {asked.guest_of(kernel)}")
        rest = f", then {', '.join(asked.generated)}" if asked.generated else ""
        print(f"workloads  {number(len(workloads), 'workload')} by name{rest}")
        print(f"budget     {duration(asked.budget_s)}, and {duration(asked.after_s)} for what is new")
        print(f"results    {shown(Path(asked.results))}")
        return EXIT_HOLDS
    if arguments.pages:
        results = Path(asked.results)
        if not (results / NAME).exists():
            raise NoResults(f"{results} has no {NAME}: no night was run there")
        with open_history(results / NAME) as history:
            print(shown(write_pages_again(history, results)))
        return EXIT_HOLDS
    with Progress(arguments.quiet or arguments.json) as progress:
        folder, night = do_night(asked, run_spec, progress)
    if arguments.json:
        sys.stdout.buffer.write((folder / "night.json").read_bytes())
    else:
        print("\n".join(last_lines(night, folder)))
    return night.exit
