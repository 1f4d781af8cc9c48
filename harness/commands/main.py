"""
The command line: words in, exit status out.

In:       the arguments of ./powercut, which has made our environment.
Out:      0 every verdict HOLDS, 1 something is BROKEN, 2 wrong usage or bad input, 3 UNKNOWN remains or
          the experiment could not be done. Of a sweep of planted bugs: 0 all are found and the stock
          kernel gives nothing but what is known.
Not here: the commands, a file each, and the work that they call.
"""

import argparse
import contextlib
import os
import signal
import sys

from harness.bench.history import NoHistory
from harness.bisect.bisect import BadBisect, add_bisect
from harness.bisect.git import NotBisected
from harness.campaign.file import BadCampaign
from harness.campaign.trouble import AuditBroken, NoEngine, Unfit
from harness.commands import perf
from harness.commands.arguments import positive, with_commits
from harness.commands.attribute import add_attribute, command_attribute
from harness.commands.bench import add_bench, command_bench
from harness.commands.bisect import command_bisect
from harness.commands.campaign import add_campaign, command_campaign
from harness.commands.compare import (
    add_compare,
    command_compare,
)
from harness.commands.completion import SHELLS, PrintCompletion
from harness.commands.coverage import add_coverage, command_coverage
from harness.commands.explore import add_explore, add_pack, command_explore, command_pack
from harness.commands.export import add_export, command_export
from harness.commands.fstests import add_fstests, command_fstests
from harness.commands.generate import (
    BadImport,
    add_generate,
    add_import,
    command_generate,
    command_import,
)
from harness.commands.host import add_host, command_host
from harness.commands.judge import add_judge, command_judge
from harness.commands.kernel import add_kernel, command_kernel
from harness.commands.list import add_list, command_list
from harness.commands.minimize import add_minimize, command_minimize
from harness.commands.nightly import add_nightly, command_nightly
from harness.commands.record import add_record, command_record
from harness.commands.report import add_report, command_report
from harness.commands.repro import add_repro, command_repro
from harness.commands.run import add_run, command_run, settle_kernel
from harness.commands.search import add_search, command_search
from harness.commands.test import add_test, test
from harness.evidence.pack import BadPack
from harness.evidence.store import NoResults, RunInUse
from harness.evidence.summary import (
    EXIT_BAD_INPUT,
    EXIT_UNKNOWN,
)
from harness.evidence.sweep import NothingToSweep
from harness.findings.minimize import NotShown
from harness.findings.reproducers import NoExport
from harness.fstests.check import NoCheckout
from harness.fstests.checkout import NoSuchTest
from harness.fstests.machine import NoRoomForDisks
from harness.fstests.suite import BadKnown, BadResume
from harness.guests.agent_binary import AgentError
from harness.guests.filesystem import NoFilesystemTool
from harness.guests.guest import GuestTrouble, LostGuest
from harness.hosts.hosts import BadHost
from harness.hosts.ssh import RemoteFailed, Unreachable
from harness.local.memory import keep_memory
from harness.local.version import title
from harness.nightly.file import BadNightFile
from harness.nightly.history import BadHistory
from harness.perf.boot import NotMeasured
from harness.runs.run import NoGuest, NoRoom, WorkerFailed
from harness.stages.checks import AuditFailed
from harness.stages.elsewhere import BadSource
from harness.stages.gcov import NotCounted
from harness.states.disk import BadEntry
from harness.states.log import BadLog
from kernel.kernel import BadKernel, KernelError
from oracles.profiles import UnknownProfile
from oracles.spec import BadSpec
from reports.formats import UnknownFormat
from workloads.generate.space import BadBounds
from workloads.library import BadSelection
from workloads.perf.experiment import BadExperiment
from workloads.programs import BadProgram
from workloads.text import BadWorkload

BAD_INPUT = (
    BadBisect,
    BadBounds,
    BadCampaign,
    BadEntry,
    BadExperiment,
    BadHost,
    BadHistory,
    BadImport,
    BadKernel,
    BadKnown,
    BadResume,
    BadLog,
    BadNightFile,
    BadPack,
    BadProgram,
    BadSelection,
    BadSource,
    BadSpec,
    BadWorkload,
    NoCheckout,
    NoExport,
    NoHistory,
    NoResults,
    NoSuchTest,
    NothingToSweep,
    UnknownFormat,
    UnknownProfile,
)
NOT_DONE = (
    AgentError,
    AuditBroken,
    AuditFailed,
    GuestTrouble,
    KernelError,
    LostGuest,
    NoEngine,
    NoFilesystemTool,
    NoGuest,
    NoRoom,
    NoRoomForDisks,
    NotBisected,
    NotCounted,
    NotMeasured,
    NotShown,
    OSError,
    perf.NoTools,
    RemoteFailed,
    RunInUse,
    Unfit,
    Unreachable,
    WorkerFailed,
)


class PrintVersion(argparse.Action):
    """As argparse's own, but git is asked for the commit only when somebody wants to know."""

    def __call__(self, parser: argparse.ArgumentParser, *_unused: object) -> None:
        print(title())
        parser.exit()


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="powercut",
        description="A crash-consistency test suite for Linux filesystems: it records the block writes of a "
        "workload, rebuilds the disk as every power failure would leave it, lets the kernel recover it, and "
        "checks what came back.",
        epilog="Exit status: 0 every verdict is HOLDS; 1 something is BROKEN; 2 bad input; 3 a verdict is "
        "UNKNOWN or the experiment could not be done. Of run --planted: 0 every planted bug is found and the "
        "stock kernel shows only known findings; else 1.",
    )
    top.add_argument("--version", action=PrintVersion, nargs=0, help="print the version and the commit")
    top.add_argument(
        "--print-completion",
        action=PrintCompletion,
        choices=SHELLS,
        help="print the program by which this shell completes powercut's arguments",
    )
    commands = top.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")

    def add(name: str, help_: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help_, description=about)

    add_run(
        add(
            "run",
            "test a kernel with workloads, and write a report",
            "Build the kernel, record each workload on each profile, rebuild and recover the disk for every "
            "power failure, judge what came back, and write a report.",
        )
    )
    compare = add(
        "compare",
        "run the same workloads on two kernels and show the differences",
        "Run the same workloads on two kernels and show where their verdicts differ. With the folder of an "
        "earlier comparison in place of a WORKLOAD, show that again.",
    )
    add_run(compare)
    add_compare(compare)
    perf.add_perf(compare)
    bisect = add(
        "bisect",
        "find the commit that broke a promise",
        "Find the commit that broke a promise, with `git bisect run` on a repository that is only read.",
    )
    add_run(bisect)
    add_bisect(bisect)
    add_coverage(
        add(
            "coverage",
            "show which lines of a kernel, and of a series, the workloads execute",
            "Do what run does, on a kernel that counts which lines of the filesystems it executes, and "
            "show which lines of the kernel and of its series ran, while recording and while recovering. "
            "Without a WORKLOAD, the whole library. With the folder of such a run in place of a WORKLOAD, "
            "show that again.",
        )
    )
    add_search(
        add(
            "search",
            "change workloads, and keep what shows something new",
            "Change workloads of the library and random ones again and again, record and recover each, and "
            "keep what shows something new: code that none reached, sequences of blocks in the log, "
            "findings. Findings are attributed, made small and kept as those of run.",
        )
    )
    add_record(
        add(
            "record",
            "test a kernel with a program of your own as the workload",
            "Run a program on the filesystem under test, record its block writes and its system calls, and "
            "then do what run does: every power failure is rebuilt, recovered and judged.",
        )
    )
    add_judge(add("judge", "judge a run again", "Judge a run again from its files; no guest is started."))
    add_report(
        add(
            "report",
            "write the pages of a run again",
            "Write the pages of a run again from its files; no guest is started.",
        )
    )
    smallest = add(
        "minimize",
        "find the smallest workload that shows a finding",
        "Take operations, names and bytes away from the workload of a finding while the kernel still shows "
        "the same finding. The result is a run of its own.",
    )
    add_minimize(smallest, positive)
    add_export(
        add(
            "export",
            "write a finding as a shell script, a C program or a test for fstests",
            "Write a program that shows a finding without Powercut, and try it on the kernel of the finding "
            "and on the stock kernel.",
        )
    )
    add_repro(
        add(
            "repro",
            "show a finding or one state again",
            "Rebuild the disk of a state, let the kernel recover it again, and print what was expected and "
            "what was found.",
        )
    )
    add_attribute(
        add(
            "attribute",
            "find out which known bug each new finding is",
            "Run the workloads of new findings again on kernels that have a fix for a known bug. A finding "
            "that a fix takes away is that bug.",
        )
    )
    add_explore(
        add(
            "explore",
            "examine a dm-log-writes log that was recorded elsewhere",
            "Rebuild every crash state of a dm-log-writes log that was recorded elsewhere, let the kernel "
            "recover it, judge what came back, and write a report.",
        )
    )
    add_pack(
        add(
            "pack",
            "make one file of an experiment's log, base disk and history",
            "Make one file of the log, the base disk and the history of an experiment, which "
            "`powercut explore` reads on another machine.",
        )
    )
    add_kernel(add("kernel", "build, show, list and delete kernels", "Kernels in the cache."))
    add_host(
        add(
            "host",
            "add, show and claim machines that are reached by ssh",
            "Machines that are reached by ssh. They are kept in hosts.toml.",
        )
    )
    add_list(
        add(
            "list",
            "list workloads, profiles, oracles and series",
            "List workloads, profiles, oracles, performance experiments and series, one line for each.",
        )
    )
    add_generate(
        add(
            "generate",
            "print generated workloads",
            "Print all workloads of given bounds and length, or a sample of them.",
        )
    )
    add_import(
        add(
            "import",
            "convert workloads from and to CrashMonkey's J-lang",
            "Convert workloads in J-lang, of CrashMonkey, to workloads of Powercut; --to does the reverse.",
        )
    )
    doctor = add(
        "doctor",
        "check what this machine can do",
        "Check whether this machine has what Powercut needs. Each failed check names its fix.",
    )
    doctor.add_argument("--json", action="store_true", help="print JSON")
    add_bench(
        add(
            "bench",
            "measure the speed of Powercut itself",
            "Measure the speed of Powercut itself, as ratios within one run.",
        )
    )
    add_fstests(
        add(
            "fstests",
            "run tests of fstests on a kernel",
            "Run tests of fstests by its own ./check in guests, each test with its own deadline. A test that "
            "was not run is not a pass.",
        )
    )
    add_nightly(
        add(
            "nightly",
            "test branches each night, and tell what is new",
            "Fetch and build the kernels that a file names, run what fits into the budget, and compare "
            "with the nights before. New findings are repeated, made small, exported and bisected. A "
            "night that was stopped goes on.",
        )
    )
    add_campaign(
        add(
            "campaign",
            "examine whole bounds of generated workloads, on many machines",
            "Examine all generated workloads of given bounds, or a sample spread over them, on the kernels "
            "and profiles that a file names. The work is dealt out in batches to this machine and to others. "
            "What is done is kept in a few bytes an experiment, and never done again.",
        )
    )
    add_test(
        add(
            "test",
            "run the tests of the project",
            "Run the tests of the project, as CI does: in a checkout.",
        )
    )
    return top


def command_doctor(arguments: argparse.Namespace) -> int:
    # Only this command boots a guest to see whether one does.
    from harness.commands.doctor import doctor  # noqa: PLC0415

    return doctor(arguments.json)


def command_test(arguments: argparse.Namespace) -> int:
    return test(arguments.arguments)


COMMANDS = {
    "run": command_run,
    "compare": command_compare,
    "bisect": command_bisect,
    "coverage": command_coverage,
    "judge": command_judge,
    "record": command_record,
    "search": command_search,
    "report": command_report,
    "repro": command_repro,
    "attribute": command_attribute,
    "minimize": command_minimize,
    "export": command_export,
    "explore": command_explore,
    "pack": command_pack,
    "kernel": command_kernel,
    "host": command_host,
    "list": command_list,
    "fstests": command_fstests,
    "nightly": command_nightly,
    "campaign": command_campaign,
    "generate": command_generate,
    "import": command_import,
    "doctor": command_doctor,
    "bench": command_bench,
    "test": command_test,
}


# They keep their command line, by which they go on and are repeated.
TESTING_KERNELS = ("run", "compare", "coverage", "record", "search", "explore", "fstests", "bench")


def understood(words: list[str]) -> argparse.Namespace:
    """What follows `test` is not ours to read; argparse trips over its options. A command that goes on with
    what another was asked reads that one's words by `understood`."""
    if words and words[0] == "test":
        return argparse.Namespace(command=words[0], arguments=words[1:])
    arguments = parser().parse_args(words)
    arguments.words, arguments.understood = words, understood
    if arguments.command in ("run", "compare", "bisect", "coverage"):
        settle_kernel(arguments)
    return arguments


def main(words: list[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    if not words:
        parser().print_help()
        return EXIT_BAD_INPUT
    arguments = understood(words)
    keep_memory()
    try:
        if arguments.command in TESTING_KERNELS:
            arguments = with_commits(arguments)
        return COMMANDS[arguments.command](arguments)
    except BAD_INPUT as error:
        return complain(error, EXIT_BAD_INPUT)
    except BrokenPipeError:
        raise
    except NOT_DONE as error:
        return complain(error, EXIT_UNKNOWN)
    except KeyboardInterrupt:
        print("powercut: stopped", file=sys.stderr)
        return 130


def complain(error: BaseException, exit_status: int) -> int:
    print(f"powercut: {error}", file=sys.stderr)
    return exit_status


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # in order, as Ctrl-C
    with contextlib.suppress(BrokenPipeError):
        status = main()
        sys.stdout.flush()
        sys.exit(status)
    os._exit(EXIT_UNKNOWN)  # whoever read our output has gone away, and nobody saw the answer
