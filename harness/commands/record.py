"""
`powercut record`: a program of the user's as the workload.

In:       the arguments; what follows -- is the program, its input is ours.
Out:      a RunSpec with one workload, and its run; the exit status.
Not here: how a program is run and traced (stages/trace.py), the run itself (runs/run.py).
"""

import argparse
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from harness.commands.arguments import add_jobs, add_out, chosen_profiles, positive, report_page, size
from harness.commands.kernel import config_option
from harness.evidence.summary import experiment_folders
from harness.guests.spec import UML
from harness.local.progress import Progress
from harness.runs.run import LOG_BYTES, RunSpec, run
from harness.stages.explore import DEFAULT_BUDGET
from harness.states.crash import parse_models
from kernel.fragments import check_variants
from oracles.verdict import Tier
from reports.results import read_experiment, read_question
from reports.terminal.programs import program_lines, rows_of
from reports.terminal.terminal import summary_lines
from workloads.library import BadSelection
from workloads.program import FILES_BYTES_MAX, Program, ProgramFile
from workloads.workload import Workload

GUEST_FOLDERS = ("/usr/", "/etc/", "/bin/", "/sbin/", "/lib/", "/lib64/")  # agent/start.c: program_root()


def add_record(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "program",
        metavar="PROGRAM",
        nargs="+",
        help="the program and its arguments, after --; its working directory is the filesystem under test, "
        "its input is that of this command",
    )
    command.add_argument(
        "--fs", metavar="P,...", default="btrfs", help="profiles, such as btrfs,ext4 (default: btrfs)"
    )
    command.add_argument(
        "--kernel", default="6.12", metavar="K", help="kernel under test, SOURCE[+SERIES...] (default: 6.12)"
    )
    config_option(command)
    command.add_argument(
        "--setup",
        metavar="COMMAND",
        help="a line for sh that is run first, in the same folder; what it leaves is durable, and not "
        "recorded",
    )
    command.add_argument(
        "--file",
        dest="files",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a file that the program finds as /program/NAME; may be given several times",
    )
    command.add_argument(
        "--oracle",
        type=Path,
        metavar="SCRIPT",
        help="run on each different recovered tree, in the same folder, with the lines on its input that the "
        "program had printed: exit status 0 keeps the program's promise, 1 breaks it, others are UNKNOWN",
    )
    command.add_argument(
        "--promise",
        default="",
        metavar="TEXT",
        help="what the oracle checks, in one line, for the report",
    )
    command.add_argument(
        "--timeout",
        type=positive,
        default=60,
        metavar="SECONDS",
        help="how long the program may run (default: 60)",
    )
    command.add_argument(
        "--no-content",
        action="store_true",
        help="judge names, sizes and attributes, and not the content of files: for a program whose files "
        "hold more than 1 MiB",
    )
    command.add_argument(
        "--name", default="", metavar="NAME", help="the workload's name (default: the program's)"
    )
    command.add_argument(
        "--models",
        default="O",
        metavar="O,R,T,N,A,M",
        help="crash models: O ordered, R reordered, T torn, N nested, A used afterwards, M of several "
        "devices (default: O)",
    )
    command.add_argument(
        "--budget",
        type=positive,
        default=DEFAULT_BUDGET,
        metavar="N",
        help=f"states to check of each model except O (default: {DEFAULT_BUDGET})",
    )
    command.add_argument(
        "--tier", choices=[t.value for t in Tier], default=Tier.FS.value, help="as of run (default: fs)"
    )
    add_jobs(command)
    add_out(command)
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of what is drawn at random")
    command.add_argument(
        "--log-size", type=size, default=LOG_BYTES, metavar="SIZE", help="size of the log device"
    )
    command.add_argument("--no-fsck", action="store_true", help="do not run the filesystem checker")
    command.add_argument("--json", action="store_true", help="print summary.json and nothing else")
    command.add_argument("--quiet", action="store_true", help="do not show progress")
    command.set_defaults(against="", perf=None)


def command_record(arguments: argparse.Namespace) -> int:
    workload = workload_of(arguments, standard_input())
    run_spec = RunSpec(
        workloads=(workload,),
        profiles=chosen_profiles(arguments.fs),
        kernels=(arguments.kernel,),
        config=check_variants(arguments.config),
        tier=Tier(arguments.tier),
        models=parse_models(arguments.models),
        budget=arguments.budget,
        jobs=arguments.jobs,
        seed=arguments.seed,
        with_fsck=not arguments.no_fsck,
        log_bytes=arguments.log_size,
        guest=UML,
        command=("powercut", *arguments.words),
        repeats=False,
    )
    with Progress(arguments.quiet or arguments.json) as progress:
        folder, summary = run(run_spec, arguments.out, progress)
    if arguments.json:
        sys.stdout.buffer.write((folder / "summary.json").read_bytes())
    else:
        print("\n".join(summary_lines(summary, read_question(folder), report_page(folder))))
        for line in not_checked(folder):
            print(line)
        if table := program_lines(rows_of(map(read_experiment, experiment_folders(folder)))):
            print("\n".join(["", *table]))
    return summary.exit


def not_checked(folder: Path) -> list[str]:
    """A line for each thing that no oracle could judge, on any profile, or that a reader should know."""
    found: dict[str, None] = {}
    for place in experiment_folders(folder):
        history = read_experiment(place).history
        if history is not None:
            found |= dict.fromkeys(f"{one.path}: {one.why}" for one in history.unjudged)
            found |= dict.fromkeys(history.remarks)
    return [f"not checked  {sentence}" for sentence in found]


def standard_input() -> bytes:
    """What the program reads: a terminal has nothing for it. Errors: OSError."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    if not stat.S_ISREG(os.fstat(0).st_mode) and not stat.S_ISFIFO(os.fstat(0).st_mode):
        return b""
    return sys.stdin.buffer.read()


def workload_of(arguments: argparse.Namespace, stdin: bytes) -> Workload:
    """Errors: BadSelection, OSError."""
    program, *others = arguments.program
    files = [program_file(path) for path in arguments.files]
    if "/" in program and not program.startswith(("/program/", *GUEST_FOLDERS)):
        files.append(program_file(Path(program), executable=True))
        program = f"/program/{files[-1].name}"
    elif "/" not in program and not found_in_path(program):
        raise BadSelection(
            f"there is no program {program!r} in /usr/bin or /usr/sbin, which the guest shares with this "
            "machine. Install it, or give the path of a file"
        )
    oracle: tuple[str, ...] = ()
    if arguments.oracle is not None:
        files.append(program_file(arguments.oracle, executable=True))
        oracle = (f"/program/{files[-1].name}",)
    require_room_for(files, stdin)
    name = arguments.name or re.sub(r"[^\w.-]", "-", Path(arguments.program[0]).name)
    return Workload(
        name,
        (),
        (),
        comment=(shlex.join(arguments.program),),
        program=Program(
            arguments=(program, *others),
            setup=("/bin/sh", "-ec", arguments.setup) if arguments.setup else (),
            oracle=oracle,
            promise=arguments.promise or (f"{arguments.oracle.name} ends with 0" if oracle else ""),
            files=tuple(files),
            stdin=stdin,
            timeout_s=float(arguments.timeout),
            content=not arguments.no_content,
        ),
    )


def require_room_for(files: Iterable[ProgramFile], stdin: bytes = b"") -> None:
    """In the guest. Errors: BadSelection."""
    total = sum(len(file.content) for file in files) + len(stdin)
    if total > FILES_BYTES_MAX:
        raise BadSelection(
            f"the program's files and its input have {total >> 20} MiB, and the guest is given "
            f"{FILES_BYTES_MAX >> 20} MiB at most"
        )


def program_file(path: Path, executable: bool = False) -> ProgramFile:
    """Errors: BadSelection, OSError."""
    if not path.is_file():
        raise BadSelection(f"{path} is no file")
    mode = path.stat().st_mode
    if executable and not mode & 0o111:
        raise BadSelection(f"{path} is not executable: chmod +x {shlex.quote(str(path))}")
    return ProgramFile(path.name, path.read_bytes(), bool(mode & 0o111))


def found_in_path(program: str) -> bool:
    return any(
        (Path(folder) / program).exists()
        for folder in ("/usr/local/bin", "/usr/bin", "/usr/sbin", "/usr/local/sbin")
    )
