"""
`powercut search`: workloads that are changed, and kept where they show something new.

In:       the arguments.
Out:      the folder of a run with the corpus; its last lines; the exit status.
Not here: the search (search/search.py), making a finding small (minimize.py).
"""

import argparse
import contextlib
import sys
from pathlib import Path

from harness.commands.arguments import (
    DEFAULT_KERNEL,
    add_jobs,
    add_out,
    chosen_profiles,
    positive,
    read_question_of,
    report_page,
)
from harness.commands.kernel import config_option
from harness.commands.minimize import command_minimize
from harness.evidence.store import NoResults
from harness.evidence.summary import EXIT_BROKEN, EXIT_HOLDS, EXIT_UNKNOWN
from harness.findings.minimize import NotShown
from harness.guests.guest import LostGuest
from harness.local.progress import Progress
from harness.runs.run import write_pages
from kernel.fragments import check_variants
from kernel.kernel import KernelError
from oracles.verdict import Tier
from reports.results import Summary, read_summary
from reports.search.lines import search_lines
from reports.search.results import FILE, GUIDED, SAMPLED, SearchReport
from workloads.generate.mutated import is_seed
from workloads.library import BadSelection, library, select

HOURS = 1.0
PREFIXES = 120
HOURS_MAX = 1000.0
MINIMIZED_MAX = 8
MINIMIZE_BUDGET = 150


def hours(text: str) -> float:
    """Errors: argparse.ArgumentTypeError."""
    with contextlib.suppress(ValueError):
        if 0 < float(text) <= HOURS_MAX:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours, such as 4 or 0.5")


def add_search(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "workloads",
        metavar="WORKLOAD",
        nargs="*",
        help="workloads to begin with: names or globs of the library, or files (default: the whole library, "
        "as far as the filesystem has its words)",
    )
    command.add_argument(
        "--kernel",
        default=DEFAULT_KERNEL,
        metavar="K",
        help=f"kernel under test, SOURCE[+SERIES...] (default: {DEFAULT_KERNEL})",
    )
    config_option(command)
    command.add_argument("--fs", default="btrfs", metavar="P", help="profile (default: btrfs)")
    command.add_argument(
        "--hours",
        type=hours,
        metavar="H",
        help=f"how long to search (default: {HOURS:g}, or no limit with --workloads)",
    )
    command.add_argument(
        "--workloads",
        dest="count",
        type=positive,
        default=0,
        metavar="N",
        help="how many workloads to examine; the same seed then examines the same ones",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the dice (default: 0)")
    mode = command.add_mutually_exclusive_group()
    mode.add_argument(
        "--guided",
        dest="mode",
        action="store_const",
        const=GUIDED,
        help="keep and change what reaches new code, on a kernel that counts",
    )
    mode.add_argument(
        "--sampled",
        dest="mode",
        action="store_const",
        const=SAMPLED,
        help="change the workloads to begin with, without looking at what they reach (default)",
    )
    command.add_argument(
        "--corpus",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="begin with the corpus of an earlier search, too: its folder, or a folder of workloads",
    )
    command.add_argument(
        "--prefixes",
        type=positive,
        default=PREFIXES,
        metavar="N",
        help=f"check at most N disks of each log, spread over it (default: {PREFIXES})",
    )
    command.add_argument(
        "--no-fsck",
        action="store_true",
        help="do not run the filesystem checker, which is faster, most of all on xfs",
    )
    add_jobs(command)
    add_out(command)
    command.add_argument(
        "--resume", type=Path, metavar="DIR", help="go on with a search that ended or was stopped"
    )
    command.add_argument(
        "--no-attribute",
        action="store_true",
        help="do not find out which known bug a finding is that no ID claims",
    )
    command.add_argument(
        "--no-minimize", action="store_true", help="do not make the workloads of new findings small"
    )
    command.add_argument(
        "--json", action="store_true", help=f"print {FILE} on standard output and nothing else"
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def command_search(arguments: argparse.Namespace) -> int:
    """Errors: BadSelection, NoResults, and those of search()."""
    from harness.search.search import SearchSpec, search  # noqa: PLC0415  what it imports takes 0.1 s

    resume = arguments.resume
    if resume is not None:
        arguments = as_begun(arguments)
    profiles = chosen_profiles(arguments.fs)
    if len(profiles) > 1:
        raise BadSelection(f"search: --fs {arguments.fs}: a search is on one profile. Use a search for each")
    (one,) = profiles
    if "," in arguments.kernel:
        raise BadSelection(
            f"search: --kernel {arguments.kernel}: a search is on one kernel. Use a search for each"
        )
    spec = SearchSpec(
        kernel=arguments.kernel,
        profile=one,
        seeds=seeds_of(arguments, one.filesystem),
        mode=arguments.mode or SAMPLED,
        config=check_variants(tuple(arguments.config)),
        corpora=tuple(corpus_of(place) for place in arguments.corpus),
        seed=arguments.seed,
        workloads=arguments.count,
        seconds=3600 * (arguments.hours or (0.0 if arguments.count else HOURS)),
        jobs=arguments.jobs,
        prefixes=arguments.prefixes,
        tier=Tier.FS,
        with_fsck=not arguments.no_fsck,
        attribute=not arguments.no_attribute,
        command=("powercut", *arguments.words),
    )
    with Progress(arguments.quiet or arguments.json) as progress:
        folder, report, summary = search(spec, arguments.out, progress, resume)
        if not arguments.no_minimize:
            make_small(folder, summary, arguments, progress)
            summary = read_summary(folder)
    if arguments.json:
        sys.stdout.buffer.write((folder / FILE).read_bytes())
    else:
        print("\n".join(search_lines(report, summary, folder, report_page(folder))))
    return status(report, summary)


def seeds_of(arguments: argparse.Namespace, filesystem: str) -> tuple:  # type: ignore[type-arg]
    """Errors: BadSelection."""
    chosen = select(tuple(arguments.workloads)) if arguments.workloads else library()
    fitting = tuple(workload for workload in chosen if is_seed(workload, filesystem))
    if not fitting:
        raise BadSelection(
            f"search: none of these workloads can be changed for {filesystem}: they have words that it has "
            "not, or faults, or more than 150 operations. Name others"
        )
    left = sorted({workload.name for workload in chosen} - {workload.name for workload in fitting})
    if arguments.workloads and left and not arguments.quiet:
        print(f"left out, as search does not change them: {', '.join(left)}", file=sys.stderr)
    return fitting


def corpus_of(place: Path) -> Path:
    """Of the folder of a search its corpus. Errors: NoResults."""
    found = place / "corpus" if (place / FILE).is_file() else place
    if not found.is_dir():
        raise NoResults(f"--corpus {place}: there is no such folder, or that search kept no corpus")
    return found


def as_begun(arguments: argparse.Namespace) -> argparse.Namespace:
    """The question is the one the search was started with, but for how long. Errors: NoResults."""
    folder: Path = arguments.resume
    words = list(read_question_of(folder).command[1:])
    original: argparse.Namespace = arguments.understood(words)
    if original.command != "search" or not (folder / FILE).is_file():
        raise NoResults(f"{folder} was made by powercut {original.command}: continue it with that")
    for name in ("resume", "quiet", "json", "no_attribute", "no_minimize"):
        setattr(original, name, getattr(arguments, name))
    for name in ("hours", "count", "jobs"):
        setattr(original, name, getattr(arguments, name) or getattr(original, name))
    original.words = words
    return original


def make_small(folder: Path, summary: Summary, arguments: argparse.Namespace, progress: Progress) -> None:
    """The workloads of findings that no known bug explains; one that does not come again is left as it is."""
    new = [one for one in summary.findings if not one.known and not one.after.minimal]
    for finding in new[:MINIMIZED_MAX]:
        progress.line(f"{finding.id}: making {finding.workload} smaller")
        words = ["minimize", str(folder), finding.id, "--out", str(folder / "minimal")]
        asked = arguments.understood([*words, "--budget", str(MINIMIZE_BUDGET), "--quiet"])
        try:
            with contextlib.redirect_stdout(sys.stderr):
                command_minimize(asked)
        except (NotShown, NoResults, KernelError, LostGuest) as error:
            progress.line(f"{finding.id}: {error}")
    if len(new) > MINIMIZED_MAX:
        progress.line(f"for {len(new) - MINIMIZED_MAX} more findings: powercut minimize {folder} FINDING")
    if new:
        write_pages(folder)


def status(report: SearchReport, summary: Summary) -> int:
    """1 with findings; 3 where nothing was judged, or workloads could not be examined."""
    if summary.findings:
        return EXIT_BROKEN
    return EXIT_UNKNOWN if report.undone or report.unknown or not report.states else EXIT_HOLDS
