"""
Two kernels side by side, in one run: `powercut compare`.

In:       the words of the command line, or the folder of such a run.
Out:      what is wrong with them, before anything is built; the last lines and compare.json of the run.
Not here: the run itself (run.py), what is said of A and B (reports/text/comparison.py).

A is the kernel held against (--against), B the kernel in question (--kernel).
"""

import argparse
import sys
from pathlib import Path

from harness.commands import perf
from harness.commands.arguments import compare_lines, compare_status, read_question_of
from harness.commands.report import command_report
from harness.commands.run import command_run
from harness.evidence.store import NoResults
from harness.evidence.summary import status_of
from harness.local.progress import Progress
from kernel.build import key, parse
from kernel.kernel import BadKernel

NOISE_OFFER = ". To measure the noise of this machine: powercut compare --kernel {} --noise --perf"


def add_compare(command: argparse.ArgumentParser) -> None:
    """What `compare` takes beside the options of `run`; one folder alone is a run to show again."""
    command.add_argument(
        "--against", default="", metavar="K", help="the kernel that --kernel is compared with"
    )
    command.add_argument(
        "--only-new",
        action="store_true",
        help="exit status 1 only for what is BROKEN on --kernel and not on --against",
    )


def compared_folder(arguments: argparse.Namespace) -> Path | None:
    """`compare DIR`: the one word is the folder of a run."""
    words = arguments.workloads
    if arguments.against or len(words) != 1 or not (Path(words[0]) / "run.json").is_file():
        return None
    return Path(words[0])


def require_two_kernels(arguments: argparse.Namespace) -> None:
    """Errors: BadKernel, when there is nothing to compare; KernelError."""
    if not arguments.against:
        raise BadKernel(
            f"compare: name the second kernel: powercut compare --kernel {arguments.kernel} "
            f"--against {arguments.kernel}+SERIES. Or give only the folder of an earlier "
            "comparison, to show it again"
        )
    if arguments.planted:
        raise BadKernel("compare: --planted cannot be used here. Use powercut run --planted")
    words = (arguments.against, arguments.kernel)
    with Progress(arguments.quiet or arguments.json) as progress:
        keys = []
        for word in words:
            tell = progress.building(word)
            keys.append(key(parse(word, arguments.config), tell))
            tell("built", 1.0)
    if keys[0] == keys[1]:
        same = (
            f"{words[0]} and {words[1]} are"
            if words[0] != words[1]
            else f"--kernel and --against are both {words[0]},"
        )
        raise BadKernel(
            f"compare: {same} the same kernel (key {keys[0]}), so there is nothing to compare. "
            f"Name another one, such as --against {arguments.kernel}+SERIES, or run the kernel "
            f"alone: powercut run --kernel {arguments.kernel}"
            + ("" if arguments.perf is None else NOISE_OFFER.format(arguments.kernel))
        )


def command_compare(arguments: argparse.Namespace) -> int:
    """A run of two kernels; or, of one that was done, the pages and the last lines again."""
    if folder := compared_folder(arguments):
        return compare_again(folder, arguments)
    perf.check_options(arguments)
    if not arguments.resume and not arguments.noise:
        require_two_kernels(arguments)
    if arguments.noise or arguments.no_verdicts:
        return perf.alone(arguments)
    return command_run(arguments)


def compare_again(folder: Path, arguments: argparse.Namespace) -> int:
    if (status := perf.again(folder, arguments.json)) is not None:
        return status
    if not read_question_of(folder).against:
        raise NoResults(f"{folder} is a run of one kernel, not a comparison. Use powercut compare --against")
    command_report(argparse.Namespace(run=folder, quiet=True))
    if arguments.json:
        sys.stdout.buffer.write((folder / "compare.json").read_bytes())
    else:
        print("\n".join(compare_lines(folder, arguments.only_new)))
    return status_of(folder, compare_status(folder, arguments.only_new))
