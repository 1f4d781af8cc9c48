"""
`powercut fstests`: tests of fstests on a kernel.

In:       the arguments; a built checkout of fstests.
Out:      a run's folder with fstests.json, pages, JUnit and KTAP; the last lines; the exit status.
Not here: running them (harness/fstests/), what the results mean together (reports/fstests/).
"""

import argparse
import sys
import time
from pathlib import Path

from harness.commands.arguments import add_jobs, add_out, add_prefixes, positive
from harness.commands.kernel import config_option
from harness.evidence.store import NoResults, new_run, only_one, point_latest, reading
from harness.evidence.summary import shown
from harness.fstests import checkout, suite
from harness.fstests.machine import MKFS
from harness.guests.spec import UML
from harness.local import version
from harness.local.processors import processors
from harness.local.progress import Progress
from harness.runs.recorded_tests import examiner
from harness.runs.run import machine_facts
from oracles.profiles import UnknownProfile
from oracles.verdict import Tier
from reports.ci.fstests import write_ci
from reports.fstests.lines import fstests_lines
from reports.fstests.results import FILE, FstestsRun, read_fstests
from reports.pages.fstests import write_fstests_page
from reports.results import Question
from workloads.library import BadSelection

DEADLINE_S = 600
DEFAULT_FILESYSTEM = "btrfs"


def add_fstests(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "tests",
        metavar="TEST",
        nargs="*",
        help="tests as fstests names them, such as generic/475 or 'generic/47*' (default: those of the "
        "groups)",
    )
    command.add_argument(
        "-g",
        dest="groups",
        type=names,
        default=(),
        metavar="GROUP,...",
        help=f"groups of fstests (default without TEST: {','.join(checkout.CRASH_GROUPS)})",
    )
    command.add_argument(
        "--fstests",
        type=Path,
        metavar="DIR",
        help=f"a built checkout of fstests (default: the environment variable {checkout.VARIABLE})",
    )
    command.add_argument(
        "--fs",
        default=DEFAULT_FILESYSTEM,
        metavar="FS,...",
        help=f"filesystems, of {', '.join(MKFS)} (default: {DEFAULT_FILESYSTEM})",
    )
    command.add_argument(
        "--kernel", default="6.12", metavar="K", help="kernel under test, SOURCE[+SERIES...] (default: 6.12)"
    )
    command.add_argument(
        "--against",
        default="",
        metavar="K",
        help="a baseline kernel: a test that fails is run on it, too, and is known when it fails there as "
        "well",
    )
    config_option(command)
    command.add_argument(
        "--deadline",
        type=positive,
        default=DEADLINE_S,
        metavar="N",
        help=f"seconds that one test may take (default: {DEADLINE_S})",
    )
    command.add_argument(
        "--again",
        type=count,
        default=1,
        metavar="N",
        help="how often a test that failed is run again; it stays failed (default: 1)",
    )
    command.add_argument(
        "--known",
        type=Path,
        metavar="FILE",
        help="known failures, one a line: TEST FILESYSTEM REASON, FILESYSTEM may be *",
    )
    add_jobs(command)
    add_out(command)
    command.add_argument(
        "--record",
        action="store_true",
        help="record the scratch device while a test runs, and examine the crash states of that log",
    )
    add_prefixes(command)
    command.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="continue this run, which was stopped: the same command, without the tests that are done",
    )
    command.add_argument("--json", action="store_true", help="print fstests.json and no other text")
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def names(text: str) -> tuple[str, ...]:
    """Errors: ArgumentTypeError."""
    found = tuple(dict.fromkeys(filter(None, text.split(","))))
    if not found:
        raise argparse.ArgumentTypeError("name at least one group")
    return found


def count(text: str) -> int:
    """A count from 0. Errors: ArgumentTypeError."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return int(text)


def filesystems(text: str) -> tuple[str, ...]:
    """Errors: UnknownProfile."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in found:
        if name not in MKFS:
            raise UnknownProfile(
                f"--fs {name}: fstests is run on {', '.join(MKFS)}, with their default options"
            )
    if not found:
        raise UnknownProfile("--fs: name at least one filesystem")
    return found


def command_fstests(arguments: argparse.Namespace) -> int:
    """Errors: NoCheckout, NoSuchTest, BadKnown, BadResume, NoResults, UnknownProfile; as run_suite()."""
    wish = wish_of(arguments)
    before = resumed(arguments.resume) if arguments.resume else None
    if before:
        suite.done_before(wish, before)  # before a kernel is built
    folder = arguments.resume or new_run(arguments.out, question_of(arguments, wish))
    if not before:
        point_latest(folder)
    with only_one(folder), Progress(arguments.quiet or arguments.json) as progress:
        try:
            examine = (
                examiner(
                    folder, arguments.config, arguments.prefixes, ("powercut", *arguments.words), progress
                )
                if arguments.record
                else None
            )
            found = suite.run_suite(wish, folder, progress, before, examine)
        except KeyboardInterrupt:
            progress.line(f"the tests that are done are kept; continue with --resume {shown(folder)}")
            raise
        finally:
            if (kept := read_fstests(folder)) is not None:
                write_all(folder, kept)
    return tell(folder, found, arguments.json)


def wish_of(arguments: argparse.Namespace) -> suite.FstestsWish:
    """Errors: NoCheckout, NoSuchTest, BadKnown, UnknownProfile."""
    if arguments.prefixes and not arguments.record:
        raise BadSelection(
            "--prefixes is about the crash states of --record. Add it, or leave --prefixes out"
        )
    place = checkout.folder_of(arguments.fstests)
    groups = arguments.groups or (() if arguments.tests else checkout.CRASH_GROUPS)
    return suite.FstestsWish(
        checkout=place,
        tests=checkout.selected(place, filesystems(arguments.fs), groups, arguments.tests),
        kernel=arguments.kernel,
        against=arguments.against,
        groups=groups,
        config=arguments.config,
        deadline_s=arguments.deadline,
        again=arguments.again,
        jobs=1 if arguments.record else arguments.jobs or len(processors()),
        known=suite.read_known(arguments.known) if arguments.known else {},
    )


def resumed(folder: Path) -> FstestsRun:
    """Errors: NoResults."""
    with reading(folder):
        found = read_fstests(folder)
    if found is None:
        raise NoResults(f"--resume {folder}: it is no run of fstests")
    return found


def write_all(folder: Path, found: FstestsRun) -> None:
    """Page and CI files. Errors: OSError."""
    write_fstests_page(folder, found)
    write_ci(folder, found)


def again(folder: Path) -> FstestsRun | None:
    """Of a run of fstests, page and CI files once more; None of another run. Errors: NoResults, OSError."""
    with reading(folder):
        found = read_fstests(folder)
    if found is not None:
        write_all(folder, found)
    return found


def tell(folder: Path, found: FstestsRun, as_json: bool) -> int:
    if as_json:
        sys.stdout.buffer.write((folder / FILE).read_bytes())
    else:
        print("\n".join(fstests_lines(found, Path(shown(folder)) / "report" / "index.html")))
    return found.exit


def question_of(arguments: argparse.Namespace, wish: suite.FstestsWish) -> Question:
    """Of a run without workloads; what was asked of fstests is in fstests.json."""
    return Question(
        command=("powercut", *arguments.words),
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        powercut_commit=version.commit(),
        powercut_version=version.VERSION,
        seed=0,
        tier=Tier.FS,
        models=(),
        guest=UML,
        workloads=(),
        kernels={},
        profiles={},
        machine=machine_facts(),
        jobs=wish.jobs,
        against=arguments.against,
    )
