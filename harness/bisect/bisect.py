"""
The commit that broke a promise: `powercut bisect`, by `git bisect run`.

In:       a kernel's repository, a good and a bad revision, a RunSpec for each, what counts as bad.
Out:      results/<run>/ with bisect.json, bisect.log (git's) and every step's run; the last lines.
Not here: git (git.py), one step (step.py), the command line (main.py).

The kernels are TREE@COMMIT: read from git's objects and built on from one another (kernel/build.py), so a
step compiles what its commits changed.
"""

import argparse
import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from harness.bisect.git import (
    BAD,
    GIVE_UP,
    GOOD,
    SKIP,
    Commit,
    Found,
    NotBisected,
    bisect,
    borrow,
    commit,
    count_between,
    is_ancestor,
    merge_base,
    parents,
)
from harness.bisect.step import BisectStep, examine, kept_steps, remove_unfinished, words
from harness.evidence.store import NoResults, new_run, reading, write_pretty, write_whole
from harness.evidence.summary import EXIT_BROKEN, EXIT_UNKNOWN, shown
from harness.local.progress import Progress
from harness.runs.run import RESULTS_BYTES, RunSpec, require_room
from kernel.address import address
from kernel.fetching import fetched
from kernel.git import revision_source
from kernel.kernel import BadKernel
from oracles.judge import ORACLES
from oracles.verdict import Tier
from reports import formats
from reports.text.counting import number

STATUS = {"good": GOOD, "bad": BAD, "skip": SKIP}
RunSpecOf = Callable[[tuple[str, ...], str], RunSpec]


class BadBisect(Exception):
    """The revisions, the tree or what shall count cannot be bisected: bad input."""


class Hunt(msgspec.Struct, frozen=True):
    """The question of a bisection.

    command: the command line.
    folder: where it was given.
    started: when, in UTC.
    tree: the repository, an absolute path.
    good, bad: the commits at both ends.
    good_word, bad_word: the revisions as they were given.
    oracles: those whose BROKEN counts as bad; all when empty.
    between: how many commits lie between.
    quiet: whether progress is shown.
    """

    command: tuple[str, ...]
    folder: str
    started: str
    tree: str
    good: Commit
    bad: Commit
    good_word: str
    bad_word: str
    oracles: tuple[str, ...]
    between: int
    quiet: bool = False


class Record(msgspec.Struct, frozen=True):
    """bisect.json: what was asked and found.

    hunt:       the question.
    steps:      commits that were tested.
    first_bad:  null until it is known, or when skipped commits leave several candidates.
    before:     the tested good commit that it is compared with: its parent where that was tested.
    candidates: commits one of which is the first bad one.
    exit:       0 found, 1 not found between good and bad, 3 not known.
    """

    hunt: Hunt
    steps: tuple[BisectStep, ...] = ()
    first_bad: Commit | None = None
    before: Commit | None = None
    candidates: tuple[Commit, ...] = ()
    exit: int = EXIT_UNKNOWN


def add_bisect(command: argparse.ArgumentParser) -> None:
    """What `bisect` takes beside the options of `run`."""
    command.add_argument(
        "--tree",
        default="",
        metavar="PATH",
        help="git repository of the kernel: a folder, which is only read; a URL or a short name such as "
        "mainline, whose whole history is fetched into the cache",
    )
    command.add_argument("--good", default="", metavar="REV", help="a revision that is good")
    command.add_argument("--bad", default="", metavar="REV", help="a later revision that is bad")
    command.add_argument(
        "--oracle",
        default="",
        metavar="NAME,...",
        help="only findings of these oracles count as bad (default: all)",
    )
    command.add_argument("--step", type=Path, help=argparse.SUPPRESS)  # git bisect run calls us with it
    command.set_defaults(kernel="")


# --- what is asked -------------------------------------------------------------------------------


def hunt_of(arguments: argparse.Namespace) -> Hunt:
    """Errors: BadBisect, BadKernel, NotBisected."""
    if missing := [f"--{name}" for name in ("tree", "good", "bad") if not getattr(arguments, name)]:
        raise BadBisect(f"bisect: {', '.join(missing)} must be given too, as in: {EXAMPLE}")
    if not arguments.workloads and arguments.keyword is None:
        raise BadBisect(f"bisect: name the workload that shows the bug, as in: {EXAMPLE}")
    if arguments.kernel or arguments.planted:
        raise BadBisect(
            "bisect: --kernel and --planted cannot be used here, because the kernels come from --tree"
        )
    oracles = chosen_oracles(arguments)
    (tree, good), (_, bad) = (_end(arguments, side) for side in ("good", "bad"))
    require_order(tree, good, bad, arguments)
    return Hunt(
        command=("powercut", *arguments.words),
        folder=str(Path.cwd()),
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        tree=str(tree),
        good=good,
        bad=bad,
        good_word=arguments.good,
        bad_word=arguments.bad,
        oracles=oracles,
        between=count_between(tree, good.hash, bad.hash),
        quiet=arguments.quiet or arguments.json,
    )


EXAMPLE = "powercut bisect --tree linux --good v6.11 --bad v6.12 --fs btrfs xattrs-over-two-fsyncs"


def _end(arguments: argparse.Namespace, side: str) -> tuple[Path, Commit]:
    """The repository and the commit. Errors: BadBisect; BuildFailed when it cannot be fetched."""
    revision: str = getattr(arguments, side)
    try:
        tree, revision = _repository(arguments, revision)
        source = revision_source(tree, revision)
    except BadKernel as error:
        raise BadBisect(f"--{side} {revision}: {error}") from error
    return tree, commit(tree, source.revision)


def _repository(arguments: argparse.Namespace, revision: str) -> tuple[Path, str]:
    """The user's folder with the revision, or our copy with the commit."""
    where = address(f"{arguments.tree}@{revision}")
    if where is not None and where.folder is None:
        with Progress(arguments.quiet or arguments.json) as progress:
            return fetched(where, progress.building(arguments.tree), history=True)
    folder = Path(arguments.tree).expanduser() if where is None or where.folder is None else where.folder
    if not folder.is_dir():
        raise BadBisect(f"--tree {arguments.tree}: no such directory")
    return folder.resolve(), revision


def run_words(command: tuple[str, ...], kernel: str) -> list[str]:
    """The words of the `run` that a step is: those it was started with, but our own, and its kernel."""
    ours = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_bisect(ours)
    return ["run", *ours.parse_known_args(command[2:])[1], "--kernel", kernel]


def require_order(tree: Path, good: Commit, bad: Commit, arguments: argparse.Namespace) -> None:
    """Errors: BadBisect, when good is no ancestor of bad."""
    if good.hash == bad.hash:
        raise BadBisect(
            f"--good {arguments.good} and --bad {arguments.bad} are the same commit, {good.hash[:12]}"
        )
    if is_ancestor(tree, good.hash, bad.hash):
        return
    if is_ancestor(tree, bad.hash, good.hash):
        raise BadBisect(
            f"--bad {arguments.bad} is an ancestor of --good {arguments.good}. Are they "
            "exchanged? bisect finds the commit that broke a promise, not the one that fixed it"
        )
    base = merge_base(tree, good.hash, bad.hash)
    hint = (
        f"their common ancestor is {base[:12]}; name that commit as --good"
        if base
        else "they have no commit in common"
    )
    raise BadBisect(f"--good {arguments.good} is not an ancestor of --bad {arguments.bad}: {hint}")


def chosen_oracles(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Errors: BadBisect."""
    known = [oracle.NAME for oracle in ORACLES]
    names = tuple(dict.fromkeys(name.strip() for name in arguments.oracle.split(",") if name.strip()))
    if wrong := [name for name in names if name not in known]:
        raise BadBisect(
            f"--oracle: there is no oracle {', '.join(wrong)}. The oracles are {', '.join(known)}"
        )
    if "fsck" in names and arguments.no_fsck:
        raise BadBisect("--oracle fsck cannot be used together with --no-fsck")
    if "ordered" in names and arguments.tier == Tier.POSIX:
        raise BadBisect("--oracle ordered checks nothing in tier posix. Use --tier somc or --tier fs")
    return names


# --- the hunt ------------------------------------------------------------------------------------


def hunt(arguments: argparse.Namespace, run_spec_of: RunSpecOf) -> int:
    """`powercut bisect`, or going on with one. Errors: BadBisect, NotBisected, and those of a run."""
    if arguments.resume:
        folder, asked = arguments.resume.resolve(), read_record(arguments.resume).hunt
        os.chdir(asked.folder)
    else:
        asked = hunt_of(arguments)
        run_spec_of(asked.command, "")  # unknown workloads and profiles are told before anything is made
        require_room(arguments.out, RESULTS_BYTES)
        folder = new_run(arguments.out).resolve()
        (folder / "experiments").rmdir()
        keep(folder, Record(asked))
    (folder / "steps").mkdir(exist_ok=True)
    remove_unfinished(folder)
    with Progress(arguments.quiet or arguments.json) as progress, told_how_to_go_on(folder, asked, progress):
        record = search(folder, asked, run_spec_of, progress)
    keep(folder, record)
    if arguments.json:
        sys.stdout.buffer.write((folder / "bisect.json").read_bytes())
    else:
        print("\n".join(lines(record, folder)))
    return record.exit


def search(folder: Path, asked: Hunt, run_spec_of: RunSpecOf, progress: Progress) -> Record:
    """Both ends, then git's own search between them."""
    tree, about = Path(asked.tree), f"{asked.between:,} commits"
    progress.line(
        f"bisect: {about} from {asked.good_word} to {asked.bad_word}. The two ends are judged first"
    )
    require_end(folder, asked, "good", run_spec_of, progress)
    require_end(folder, asked, "bad", run_spec_of, progress)
    place = folder / "git"
    shutil.rmtree(place, ignore_errors=True)
    try:
        borrow(tree, place, asked.good.hash)
        ends = asked.good.hash, asked.bad.hash
        found = bisect(place, *ends, step_command(folder), lambda left: progress.line(f"      {left}"))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    write_whole(folder / "bisect.log", found.log.encode())
    return record_of(folder, asked, found)


def step_command(folder: Path) -> list[str]:
    return [sys.executable, "-P", "-m", "harness.commands.main", "bisect", "--step", str(folder)]


def require_end(folder: Path, asked: Hunt, side: str, run_spec_of: RunSpecOf, progress: Progress) -> None:
    """Errors: BadBisect when it is not what it is said to be, NotBisected when that cannot be known."""
    end, word = (asked.good, asked.good_word) if side == "good" else (asked.bad, asked.bad_word)
    step = examine(folder, end, run_spec_of(asked.command, kernel_word(asked, end)), asked.oracles, progress)
    if step.answer == side:
        return
    name = f"--{side} {word} ({end.hash[:12]})"
    if step.answer == "skip":
        raise NotBisected(f"{name} cannot be judged: {step.reason}")
    seen_in = shown(folder / step.run)
    if step.answer == "good":
        raise BadBisect(
            f"{name} is not bad: every promise that counts was kept in {step.states} states. See {seen_in}"
        )
    told = "; ".join(f"{one.signature} in {one.workload} {one.state}" for one in step.findings[:3])
    limit = "" if asked.oracles else ", or name the oracles that count with --oracle"
    raise BadBisect(f"{name} is already BROKEN: {told}. Name an older commit{limit}. See {seen_in}")


def kernel_word(asked: Hunt, one: Commit) -> str:
    """Twelve digits, as the kernel's own commit messages have."""
    return f"{asked.tree}@{one.hash[:12]}"


def record_of(folder: Path, asked: Hunt, found: Found) -> Record:
    """Errors: NotBisected, when git was told what no step of ours has said."""
    steps = tuple(kept_steps(folder))
    answers = {step.commit.hash: step.answer for step in steps}
    require_answers(found.log, answers)
    tree = Path(asked.tree)
    if not found.first_bad:
        candidates = tuple(commit(tree, one) for one in found.candidates)
        return Record(asked, steps, candidates=candidates, exit=EXIT_UNKNOWN)
    before = next(
        (one for one in parents(tree, found.first_bad) if answers.get(one) == "good"), asked.good.hash
    )
    return Record(asked, steps, commit(tree, found.first_bad), commit(tree, before), exit=EXIT_BROKEN)


def require_answers(log: str, answers: Mapping[str, str]) -> None:
    """A step that dies with status 1 before it has an answer would be taken for a bad commit."""
    for line in log.splitlines():
        said, _, name = line.removeprefix("git bisect ").partition(" ")
        if line.startswith("git bisect ") and said in STATUS and answers.get(name) != said:
            raise NotBisected(
                f"{name}: git recorded the answer {said}, and the step has the answer "
                f"{answers.get(name, 'nothing')}"
            )


@contextlib.contextmanager
def told_how_to_go_on(folder: Path, asked: Hunt, progress: Progress) -> Iterator[None]:
    """Stopped by Ctrl-C or SIGTERM: what is done is kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        progress.line(
            f"{asked.tree} was not changed. Continue with: powercut bisect --resume {shown(folder)}"
        )
        raise


def keep(folder: Path, record: Record) -> None:
    write_pretty(folder / "bisect.json", record)


def read_record(folder: Path) -> Record:
    """Errors: NoResults."""
    if not (folder / "bisect.json").is_file():
        raise NoResults(f"{folder} is not the folder of a bisect: it has no bisect.json")
    with reading(folder):
        return formats.read(folder / "bisect.json", Record)


# --- a step, called by git -----------------------------------------------------------------------


def step_status(folder: Path, run_spec_of: RunSpecOf) -> int:
    """The exit status for `git bisect run`. Whatever goes wrong on our side makes it give up: to git, 1 and 2
    are bad commits."""
    try:
        name = commit(folder / "git", "BISECT_HEAD").hash  # there, since nothing is checked out
        for variable in [one for one in os.environ if one.startswith("GIT_")]:
            del os.environ[variable]  # GIT_DIR is the bisect's own repository
        asked = read_record(folder).hunt
        os.chdir(asked.folder)
        one = commit(Path(asked.tree), name)
        with Progress(asked.quiet) as progress:
            run_spec = run_spec_of(asked.command, kernel_word(asked, one))
            return STATUS[examine(folder, one, run_spec, asked.oracles, progress).answer]
    except KeyboardInterrupt:
        return GIVE_UP
    except (Exception, SystemExit) as error:
        print(f"powercut: {type(error).__name__}: {error}", file=sys.stderr)
        return GIVE_UP


# --- the last lines ------------------------------------------------------------------------------


def lines(record: Record, folder: Path) -> list[str]:
    asked, steps = record.hunt, {step.commit.hash: step for step in record.steps}
    ends = f"{asked.good_word} to {asked.bad_word}, {asked.between:,} commits"
    told = [f"bisected   {asked.tree}: {ends}"]
    if record.first_bad and record.before:
        told += _found_lines(record.first_bad, steps[record.first_bad.hash], record.before, steps, asked)
    else:
        told.append(f"narrowed   to {len(record.candidates)} commits, not all of which could be judged:")
        told += [f"           {one.hash[:12]} {one.subject}" for one in record.candidates]
    skipped = sum(step.answer == "skip" for step in record.steps)
    seconds = sum(step.seconds for step in record.steps)
    told.append(f"steps      {len(steps)} with the two ends, {skipped} skipped; {seconds:.0f} s")
    told += [f"           {words(step)[:110]}" for step in record.steps if step.answer == "skip"]
    told.append(f"log        {shown(folder)}/bisect.log, for git bisect replay; bisect.json; steps/")
    meaning = "the commit breaks a promise" if record.first_bad else "an UNKNOWN verdict remains"
    return [*told, f"exit       {record.exit}: {meaning}"]


def _found_lines(
    first: Commit, bad: BisectStep, before: Commit, steps: dict[str, BisectStep], asked: Hunt
) -> list[str]:
    told = [
        f"first bad  {first.hash} {first.subject}",
        f"           {first.author}, {first.date}",
        f"bad        {_counts(bad, asked)}",
    ]
    for one in bad.findings[:3]:
        told.append(
            f"           {one.id} {one.signature}: {one.workload} {one.state}, {number(one.count, 'state')}"
        )
        told.append(f"              {one.repro}")
    side = steps.get(before.hash)
    name = f"{before.hash[:12]} {before.subject}"
    return [*told, f"good       {name}: {_counts(side, asked) if side else 'not judged'}"]


def _counts(step: BisectStep, asked: Hunt) -> str:
    """The verdicts that count, oracle by oracle."""
    counted = {name: one for name, one in step.verdicts.items() if not asked.oracles or name in asked.oracles}
    broken = ", ".join(f"{name} {one.broken}" for name, one in counted.items() if one.broken)
    what = f"BROKEN: {broken}" if broken else "all verdicts are HOLDS"
    limit = f" (counted: {', '.join(asked.oracles)})" if asked.oracles else ""
    return f"{what}, in {number(step.states, 'state')}{limit}"
