"""
`powercut explore`: the states of a log that was recorded elsewhere. `powercut pack`: a log for elsewhere.

In:       a log with its base disk, or one packed file; a run's folder and an experiment.
Out:      a run of one experiment, with its report and the exit status of a run; a packed file.
Not here: reading the files (stages/elsewhere.py), the run (runs/explored.py).
"""

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec

from harness.commands.arguments import (
    DEFAULT_KERNEL,
    add_atomic,
    add_guest,
    add_out,
    add_prefixes,
    positive,
    report_page,
    size,
)
from harness.commands.kernel import config_option
from harness.commands.record import program_file, require_room_for
from harness.evidence.store import NoResults
from harness.evidence.summary import EXIT_HOLDS, experiment_folders, shown
from harness.guests.filesystem import find_tool
from harness.guests.spec import LOG_BYTES, UML
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.explored import Asked, explore
from harness.stages.elsewhere import Foreign, Source, open_source, pack_experiment
from harness.stages.explore import DEFAULT_BUDGET, StatePlan
from harness.states.crash import parse_models
from kernel.fragments import check_variants
from oracles.verdict import Tier
from reports.results import read_question
from reports.terminal.terminal import summary_lines
from workloads.library import BadSelection
from workloads.program import Program

SUFFIX = ".powercut"


def add_explore(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "log", metavar="LOG", type=Path, help="a dm-log-writes log, raw or zstd, or a file of `powercut pack`"
    )
    command.add_argument(
        "--base",
        type=Path,
        metavar="IMAGE",
        help="the disk as it was when the log began: an image, raw, with holes, or zstd",
    )
    command.add_argument(
        "--fs", default="", metavar="P", help="profile (default: that of the filesystem on the base)"
    )
    command.add_argument(
        "--history",
        type=Path,
        metavar="FILE",
        help="history.json of what was done; without it no oracle that needs one is asked",
    )
    command.add_argument(
        "--check",
        metavar="CMD",
        help="command of the shell, or file of a script, that judges each different recovered tree in the "
        "guest, where the tree is $MNT and the programs are those of this machine: exit status 0 is good, "
        "1 is BROKEN, others are UNKNOWN",
    )
    command.add_argument(
        "--from",
        dest="first",
        default="",
        metavar="MARK",
        help="begin behind this mark: what the log has before it belongs to the base",
    )
    command.add_argument("--to", dest="last", default="", metavar="MARK", help="end before this mark")
    command.add_argument(
        "--kernel",
        default="",
        metavar="K",
        help=f"kernel that recovers, SOURCE[+SERIES...] (default: that of the pack, else {DEFAULT_KERNEL})",
    )
    config_option(command)
    command.add_argument(
        "--models", default="O", metavar="O,R,T,N,A,M", help="crash models, as of run (default: O)"
    )
    command.add_argument(
        "--budget",
        type=positive,
        default=DEFAULT_BUDGET,
        metavar="N",
        help=f"states to check of each model except O (default: {DEFAULT_BUDGET})",
    )
    add_prefixes(command)
    add_atomic(command)
    command.add_argument(
        "--tier",
        choices=[t.value for t in Tier],
        help="how much is asked, as of run (default: that of the pack, else fs)",
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of everything that is drawn (default: 0)"
    )
    command.add_argument(
        "--log-size",
        type=size,
        default=LOG_BYTES,
        metavar="SIZE",
        help="model N: size of the device on which recoveries are recorded (default: 64M)",
    )
    add_out(command)
    command.add_argument(
        "--no-fsck", action="store_true", help="do not run the filesystem checker on recovered states"
    )
    add_guest(command, UML, "uml")
    command.add_argument(
        "--json", action="store_true", help="print summary.json on standard output and nothing else"
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def command_explore(arguments: argparse.Namespace) -> int:
    """Errors: BadSource and others of bad input before a kernel is built; as explore()."""
    models = parse_models(arguments.models)
    check_variants(tuple(arguments.config))
    check = None if arguments.check is None else check_of(arguments.check)
    source = Source(
        arguments.log, arguments.base, arguments.history, arguments.fs, arguments.first, arguments.last
    )
    with Progress(arguments.quiet or arguments.json) as progress, workspace() as space:
        foreign = open_source(source, space.path)
        if check is not None:
            foreign = with_check(foreign, check)
        if not arguments.no_fsck:
            find_tool(foreign.profile.fsck[0], foreign.profile.package)
        plan = StatePlan(
            models, arguments.budget, arguments.seed, arguments.atomic, prefixes=arguments.prefixes
        )
        folder, summary = explore(foreign, asked_of(foreign, plan, arguments), space, arguments.out, progress)
    if arguments.json:
        sys.stdout.buffer.write((folder / "summary.json").read_bytes())
    else:
        print("\n".join(summary_lines(summary, read_question(folder), report_page(folder))))
    return summary.exit


def check_of(command: str) -> Program:
    """What is only a check: nothing of it is run but its oracle. Errors: BadSelection, OSError."""
    if not command.strip():
        raise BadSelection("--check is empty: give a command of the shell, or the file of a script")
    promise = f"{command} ends with 0"
    if not Path(command).is_file():
        return Program((), oracle=("/bin/sh", "-c", command), promise=promise)
    script = program_file(Path(command), executable=True)
    require_room_for((script,))
    return Program((), oracle=(f"/program/{script.name}",), files=(script,), promise=promise)


def with_check(foreign: Foreign, check: Program) -> Foreign:
    """The check in place of the oracle of the program that was the workload, or where there was none."""
    history = foreign.recording.history
    known = history.workload.program or Program(())
    names = {file.name for file in check.files}
    files = (*(file for file in known.files if file.name not in names), *check.files)
    program = msgspec.structs.replace(known, files=files, oracle=check.oracle, promise=check.promise)
    workload = msgspec.structs.replace(history.workload, program=program)
    recording = msgspec.structs.replace(
        foreign.recording, history=msgspec.structs.replace(history, workload=workload)
    )
    return msgspec.structs.replace(foreign, recording=recording)


def asked_of(foreign: Foreign, plan: StatePlan, arguments: argparse.Namespace) -> Asked:
    """What the command line does not say is as in the experiment that was packed."""
    facts = foreign.facts
    return Asked(
        kernel=arguments.kernel or (facts.kernel if facts else DEFAULT_KERNEL),
        config=tuple(arguments.config) or (facts.config if facts else ()),
        tier=Tier(arguments.tier or (facts.tier if facts else Tier.FS)),
        state_plan=plan,
        with_fsck=not arguments.no_fsck,
        guest=arguments.guest,
        log_bytes=arguments.log_size,
        command=("powercut", *arguments.words),
    )


# --- pack ----------------------------------------------------------------------------------------


def add_pack(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "run", metavar="DIR", type=Path, help="folder of a run, or of one of its experiments"
    )
    command.add_argument(
        "experiment",
        metavar="NUMBER",
        nargs="?",
        type=positive,
        help="number of an experiment of the run",
    )
    command.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"the file to write (default: RUN-NUMBER{SUFFIX} in the current folder)",
    )


def command_pack(arguments: argparse.Namespace) -> int:
    """Errors: NoResults, BadPack, OSError."""
    folder = experiment_of(arguments.run, arguments.experiment)
    run = folder.resolve().parent.parent
    out = arguments.out or Path(f"{run.name}-{folder.name}{SUFFIX}")
    with tempfile.TemporaryDirectory(dir=out.resolve().parent) as scratch:
        pack_experiment(folder, out, Path(scratch))
    print(f"{shown(out)}: {out.stat().st_size >> 10:,} KiB. On another machine: powercut explore {out.name}")
    return EXIT_HOLDS


def experiment_of(place: Path, number: int | None) -> Path:
    """The folder of one experiment. Errors: NoResults."""
    if (place / "experiment.json").exists():
        if number is not None:
            raise NoResults(f"{place} is a single experiment: leave the number {number} out")
        return place
    folders = {int(path.name): path for path in experiment_folders(place)} if place.is_dir() else {}
    if not folders:
        raise NoResults(f"{place} is neither the folder of a run with experiments nor of an experiment")
    if number is None and len(folders) > 1:
        raise NoResults(
            f"{place} has {len(folders)} experiments. Name one of them: powercut pack {place} {min(folders)}"
        )
    chosen = min(folders) if number is None else number
    if chosen not in folders:
        raise NoResults(
            f"{place} has no experiment {chosen}. Its experiments are {min(folders)} to {max(folders)}"
        )
    return folders[chosen]
