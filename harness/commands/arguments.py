"""
Words of the command line that several commands share.

In:       the text of an argument, a folder that a user named.
Out:      sizes, counts, profiles; the question of a run, the last lines of a comparison.
Not here: the commands, a file each.
"""

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from harness.evidence.store import NoResults, reading
from harness.evidence.summary import (
    shown,
)
from harness.guests.filesystem import find_tool
from harness.guests.words import guest_word
from harness.local.progress import Progress
from harness.states.log import SECTOR_BYTES
from kernel.address import address
from kernel.word import pinned, source_word
from oracles.profiles import UnknownProfile, profile
from reports import formats
from reports.results import Question, read_question, read_summary
from reports.terminal.compare import comparison_lines
from reports.text.comparison import Comparison, exit_only_new

DEFAULT_KERNEL = "6.12"  # of guests on this machine
KERNEL_OPTIONS = ("kernel", "against")  # of commands that test kernels


def add_guest(command: argparse.ArgumentParser, default: str | None, words: str) -> None:
    """words: what the default is."""
    command.add_argument(
        "--guest",
        type=guest_word,
        default=default,
        metavar="GUEST",
        help="what the kernel runs in: uml, qemu, qemu-aarch64, auto, or the name of a machine (default: "
        f"{words})",
    )


def with_commits(arguments: argparse.Namespace) -> argparse.Namespace:
    """The same with commits in place of branches where kernels have a URL or a short name, in its words, too:
    the command line that is kept means the same kernels on another day. What goes on with an earlier run has
    its own. Errors: KernelError."""
    given = ",".join(filter(None, (getattr(arguments, name, None) for name in KERNEL_OPTIONS)))
    asked = [word.strip() for word in given.split(",") if address(source_word(word.strip()))]
    if not asked or getattr(arguments, "resume", None):
        return arguments
    commits = {}
    with Progress(arguments.quiet or arguments.json) as progress:
        for word in asked:
            tell = progress.building(word)
            commits[word] = pinned(word, tell)
            tell("built", 1.0)
            progress.line(f"kernel {word}: {commits[word]}")
    again: argparse.Namespace = arguments.understood(_with(arguments.words, commits))
    return again


def _with(words: Sequence[str], commits: Mapping[str, str]) -> list[str]:
    """What stands behind --kernel and --against, or a beginning of these, as argparse understands them; what
    stands behind -- is a program's."""
    found = list(words)
    end = found.index("--") if "--" in found else len(found)
    for index, word in enumerate(found[:end]):
        option, equals, value = word.partition("=")
        if len(option) < len("--a") or not any(f"--{name}".startswith(option) for name in KERNEL_OPTIONS):
            continue
        if equals:
            found[index] = f"{option}={_each(value, commits)}"
        elif index + 1 < end:
            found[index + 1] = _each(found[index + 1], commits)
    return found


def _each(value: str, commits: Mapping[str, str]) -> str:
    return ",".join(commits.get(word.strip(), word) for word in value.split(","))


def size(text: str) -> int:
    """64M, 2G or bytes. Errors: ArgumentTypeError."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    if not number.isdigit() or not 1 << 20 <= int(number) * unit <= 1 << 40:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 1M to 1024G")
    return int(number) * unit


def positive(text: str) -> int:
    """A count from 1. Errors: ArgumentTypeError."""
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def percent(text: str) -> float:
    """From 0 to 100. Errors: ArgumentTypeError."""
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= 100:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 100")


def sectors(text: str) -> int:
    """Bytes, in whole sectors. Errors: ArgumentTypeError."""
    if not text.isdigit() or not int(text) or int(text) % SECTOR_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a multiple of {SECTOR_BYTES}")
    return int(text)


def add_prefixes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--prefixes",
        type=positive,
        default=0,
        metavar="N",
        help="model O: check at most N disks of each log, spread over the whole log (default: all)",
    )


def add_atomic(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--atomic",
        type=sectors,
        default=0,
        metavar="BYTES",
        help="model T: a write of this size is never torn (default: as the profile says)",
    )


def add_jobs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobs",
        type=positive,
        default=0,
        metavar="N",
        help="guests that run at once (default: one for each processor)",
    )


def add_out(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where the run is stored (default: results)",
    )


def chosen_profiles(text: str) -> tuple:  # type: ignore[type-arg]
    """Errors: UnknownProfile, NoFilesystemTool before anything is built."""
    profiles = tuple(dict.fromkeys(profile(name.strip()) for name in text.split(",") if name.strip()))
    if not profiles:
        raise UnknownProfile("--fs: name at least one profile")
    for one in profiles:
        for command in (one.mkfs, one.fsck):
            if command:
                find_tool(command[0], one.package)
    return profiles


def report_page(folder: Path) -> Path:
    return Path(shown(folder)) / "report" / "index.html"


def read_question_of(folder: Path) -> Question:
    """Errors: NoResults."""
    try:
        return read_question(folder)
    except formats.UnknownFormat as error:
        raise NoResults(str(error)) from error
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoResults(f"{folder} is not the folder of a run: {error}") from error


def read_comparison(folder: Path) -> Comparison:
    """Errors: NoResults."""
    with reading(folder):
        return formats.read(folder / "compare.json", Comparison)


def compare_lines(folder: Path, only_new: bool = False) -> list[str]:
    """The last lines. Errors: NoResults."""
    with reading(folder):
        question, summary = read_question(folder), read_summary(folder)
    page = Path(shown(folder)) / "report" / "compare.html"
    return comparison_lines(read_comparison(folder), summary, question, page, only_new)


def compare_status(folder: Path, only_new: bool) -> int:
    """only_new: of what is BROKEN in B only; else of the whole run. Errors: NoResults."""
    comparison = read_comparison(folder)
    return exit_only_new(comparison) if only_new else comparison.exit
