"""
The command line: words in, exit status out.

In:       the arguments of ./powercut, which has made our environment.
Out:      0 every verdict HOLDS, 1 something is BROKEN, 2 wrong usage or bad input, 3 UNKNOWN remains or
          the experiment could not be done. Of a sweep of planted bugs: 0 all are found and the stock
          kernel gives nothing but what is known.
Not here: the work; each command calls one function of another file.
"""

import argparse
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import msgspec

from harness.bench.history import NoHistory
from harness.bisect.bisect import BadBisect, add_bisect, hunt, run_words, step_status
from harness.bisect.git import NotBisected
from harness.commands import perf
from harness.commands.compare import add_compare, compare_lines, compared_folder, require_two_kernels
from harness.commands.generate import (
    BadImport,
    add_generate,
    add_generated,
    add_import,
    command_generate,
    command_import,
    generated,
    refuse_part,
)
from harness.commands.kernel import add_kernel, command_kernel, config_option
from harness.evidence.detection import table
from harness.evidence.store import NoResults, RunInUse, compress, only_one, reading, write_whole
from harness.evidence.summary import (
    EXIT_BAD_INPUT,
    EXIT_BROKEN,
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    experiment_folders,
    experiments_missing,
    shown,
    status_of,
)
from harness.evidence.sweep import NothingToSweep, plantable, planted_bugs, sweep_parts
from harness.findings.export import add_export, command_export
from harness.findings.minimize import NotShown, add_minimize, command_minimize
from harness.findings.repro import is_finding, locate, repro
from harness.findings.reproducers import NoExport
from harness.fstests.check import NoCheckout
from harness.guests.agent_binary import AgentError
from harness.guests.filesystem import NoFilesystemTool, find_tool
from harness.guests.guest import GuestTrouble, LostGuest
from harness.guests.probe import WANTED
from harness.guests.spec import UML
from harness.host.progress import Progress
from harness.perf.boot import NotMeasured
from harness.runs.cross_check import cross
from harness.runs.cross_check import lines as cross_lines
from harness.runs.cross_check import status as cross_status
from harness.runs.reruns import rerun_one
from harness.runs.run import LOG_BYTES, NoGuest, NoRoom, RunSpec, WorkerFailed, finish, run, write_pages
from harness.stages.explore import DEFAULT_BUDGET
from harness.stages.judge import judge_again
from harness.states.crash import DEFAULT_MODELS, BadSpec, parse_models
from harness.states.disk import BadEntry
from harness.states.log import SECTOR_BYTES, BadLog
from kernel.build import series
from kernel.fragments import check_variants
from kernel.kernel import BadKernel, KernelError
from oracles.judge import EVERY_ORACLE
from oracles.profiles import PROFILES, UnknownProfile, profile
from oracles.verdict import Tier
from reports import formats
from reports.formats import UnknownFormat
from reports.results import CRASH, DAMAGE, FAULTS, Question, read_experiment, read_question, read_summary
from reports.terminal.terminal import summary_lines
from reports.text.reruns import rerun_words
from workloads.generate.space import BadBounds
from workloads.library import DEMONSTRATION, BadSelection, library, select
from workloads.perf.experiment import BadExperiment
from workloads.perf.experiment import library as perf_library
from workloads.text import BadWorkload

BAD_INPUT = (
    BadBisect,
    BadBounds,
    BadEntry,
    BadExperiment,
    BadImport,
    BadKernel,
    BadLog,
    BadSelection,
    BadSpec,
    BadWorkload,
    NoCheckout,
    NoExport,
    NoHistory,
    NoResults,
    NothingToSweep,
    UnknownFormat,
    UnknownProfile,
)
NOT_DONE = (
    AgentError,
    GuestTrouble,
    KernelError,
    LostGuest,
    NoFilesystemTool,
    NoGuest,
    NoRoom,
    NotBisected,
    NotMeasured,
    NotShown,
    OSError,
    perf.NoTools,
    RunInUse,
    WorkerFailed,
)
LATER = {
    "explore": "states of a log that someone else recorded",
}


def size(text: str) -> int:
    """64M, 2G or bytes. Errors: ArgumentTypeError."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    if not number.isdigit() or not 1 << 20 <= int(number) * unit <= 1 << 40:
        raise argparse.ArgumentTypeError(f"{text!r} is no size from 1M to 1024G")
    return int(number) * unit


def positive(text: str) -> int:
    """A count from 1. Errors: ArgumentTypeError."""
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def sectors(text: str) -> int:
    """Bytes, in whole sectors. Errors: ArgumentTypeError."""
    if not text.isdigit() or not int(text) or int(text) % SECTOR_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is no multiple of {SECTOR_BYTES}")
    return int(text)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="powercut",
        description="Every power cut of a workload, judged: crash consistency of Linux filesystems.",
        epilog="Exit status: 0 every verdict HOLDS, 1 something is BROKEN, 2 bad input, "
        "3 UNKNOWN remains or the experiment could not be done. Of run --planted: 0 every bug is found "
        "and the stock kernel gives only what FINDINGS.md tells, else 1.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_run(commands.add_parser("run", help="build, record, replay every power cut, judge, report"))
    compare = commands.add_parser("compare", help="the verdicts on two kernels, side by side")
    add_run(compare)
    add_compare(compare)
    perf.add_perf(compare)
    bisect = commands.add_parser("bisect", help="the commit that broke a promise, by git bisect run")
    add_run(bisect)
    add_bisect(bisect)
    for name, text in (
        ("judge", "judge a run again from disk, no guest"),
        ("report", "write a run's pages again from disk, no guest"),
    ):
        again = commands.add_parser(name, help=text)
        again.add_argument("run", metavar="DIR", type=Path, help="a run's folder, as results/latest")
        again.add_argument("--quiet", action="store_true")
        if name == "judge":
            again.add_argument("--tier", choices=[t.value for t in Tier], help="instead of the run's own")
    smallest = commands.add_parser("minimize", help="the smallest workload and state that show a finding")
    add_minimize(smallest, positive)
    add_export(commands.add_parser("export", help="a reproducer that needs none of this: sh, C, fstests"))
    add_repro(commands.add_parser("repro", help="show one state again: rebuild, recover, expected and found"))
    add_kernel(commands.add_parser("kernel", help="kernels and where they came from"))
    listing = commands.add_parser("list", help="workloads, profiles, oracles, series, each with one line")
    listing.add_argument("-k", dest="keyword", metavar="EXPR", help="workloads by words, as pytest's -k")
    add_generate(commands.add_parser("generate", help="workloads of given bounds, all of them or a sample"))
    add_import(commands.add_parser("import", help="CrashMonkey's J-lang as workloads, and the way back"))
    doctor = commands.add_parser("doctor", help="what this machine can do, and each fix")
    doctor.add_argument("--json", action="store_true")
    bench = commands.add_parser("bench", help="the project's own speed, as ratios")
    bench.add_argument("--json", action="store_true")
    bench.add_argument("--fs", default="btrfs,ext4,xfs", metavar="P,...")
    bench.add_argument("--kernel", default="6.12", metavar="K")
    bench.add_argument("--out", type=Path, default=Path("results"), metavar="DIR")
    bench.add_argument("--quiet", action="store_true")
    bench.add_argument("--history", action="store_true", help="no run: what the last ones gave, with a plot")
    commands.add_parser("test", help="the project's own tests: what CI runs")
    for name, text in LATER.items():
        commands.add_parser(name, help=f"(not built yet) {text}")
    return top


def add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("workloads", metavar="WORKLOAD", nargs="*", help="names, globs or files")
    command.add_argument("-k", dest="keyword", metavar="EXPR", help="of the library, by words as pytest's -k")
    add_generated(command)
    command.add_argument("--fs", metavar="P,...", help="profiles, as btrfs,ext4 (btrfs; --planted: all)")
    command.add_argument("--kernel", default="6.12", metavar="K", help="SOURCE[+SERIES...] (6.12)")
    config_option(command)
    command.add_argument(
        "--models", default="O", metavar="O,R,T,N", help="crash models: ordered, reordered, torn, nested (O)"
    )
    command.add_argument(
        "--budget",
        type=positive,
        default=DEFAULT_BUDGET,
        metavar="N",
        help=f"states of each model but O, or damages, an experiment ({DEFAULT_BUDGET})",
    )
    command.add_argument(
        "--atomic",
        type=sectors,
        default=0,
        metavar="BYTES",
        help="what a device does not tear, model T (what the profile says)",
    )
    command.add_argument("--tier", choices=[t.value for t in Tier], default=Tier.FS.value)
    command.add_argument("--jobs", type=positive, default=0, metavar="N", help="guests at once (processors)")
    command.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="(results)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (0)")
    command.add_argument("--log-size", type=size, default=LOG_BYTES, metavar="SIZE", help="of the log (64M)")
    command.add_argument("--no-fsck", action="store_true", help="leave the checker out: faster")
    command.add_argument("--guest", choices=WANTED, default=UML, help="what runs the kernel (uml)")
    command.add_argument("--resume", type=Path, metavar="DIR", help="go on with a run that was stopped")
    command.add_argument(
        "--planted",
        action="store_true",
        help="sweep the planted bugs, each on its own profiles, beside the stock kernel (no WORKLOAD: the "
        "whole library); ends 0 when each is found and the stock kernel gives only what FINDINGS.md tells",
    )
    command.add_argument(
        "--faults",
        action="store_true",
        help="a device that fails, write by write, in place of power failures",
    )
    command.add_argument(
        "--damage",
        action="store_true",
        help="a bit flipped or a sector zeroed in blocks that recovery reads, --budget times an experiment",
    )
    command.add_argument(
        "--cross-check",
        action="store_true",
        help="hold the end of each operation against dm-flakey, no verdicts",
    )
    command.add_argument("--json", action="store_true", help="the summary on standard output, nothing else")
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.set_defaults(against="", perf=None)


def add_repro(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="a run's folder, or one of its experiments")
    command.add_argument("finding", metavar="FINDING", nargs="?", default="", help="as F1 (the first)")
    command.add_argument("--state", default="", metavar="SPEC", help="a state, as O:12")
    config_option(command)
    command.add_argument("--keep", type=Path, metavar="FILE", help="leave the disk there, before recovery")
    command.add_argument("--guest", choices=WANTED, default="", help="(the one that the run had)")
    command.add_argument("--shell", action="store_true", help="a shell in the guest with the disk")
    command.add_argument(
        "--times", type=positive, metavar="N", help="record it N times more, here and on the stock kernel"
    )


# --- commands ------------------------------------------------------------------------------------


def command_run(arguments: argparse.Namespace) -> int:
    if arguments.cross_check:
        return command_cross_check(arguments)
    if arguments.resume:
        return resume_run(arguments)
    return do_run(run_spec_of(arguments), arguments, None)


def command_cross_check(arguments: argparse.Namespace) -> int:
    if arguments.resume or arguments.planted or arguments.against or arguments.faults or arguments.damage:
        raise BadSelection("--cross-check goes with workloads, --fs and --kernel, and no other kind of run")
    with Progress(arguments.quiet or arguments.json) as progress:
        folder, checked = cross(run_spec_of(arguments), arguments.out, progress)
    if arguments.json:
        sys.stdout.buffer.write((folder / "cross-check.json").read_bytes())
    else:
        print("\n".join(cross_lines(folder, checked)))
    return cross_status(checked)


def run_spec_of(arguments: argparse.Namespace) -> RunSpec:
    run_spec = RunSpec(
        workloads=chosen_workloads(arguments),
        profiles=chosen_profiles("btrfs" if arguments.fs is None else arguments.fs),
        kernels=asked_kernels(arguments),
        config=asked_config(arguments),
        tier=Tier(arguments.tier),
        models=parse_models(arguments.models),
        budget=arguments.budget,
        atomic_bytes=arguments.atomic,
        jobs=arguments.jobs,
        seed=arguments.seed,
        with_fsck=not arguments.no_fsck,
        log_bytes=arguments.log_size,
        guest=arguments.guest,
        command=("powercut", *arguments.words),
        against=arguments.against,
        kind=kind_of(arguments),
    )
    return swept(run_spec, arguments) if arguments.planted else run_spec


def kind_of(arguments: argparse.Namespace) -> str:
    """Errors: BadSelection."""
    if not arguments.damage:
        return FAULTS if arguments.faults else CRASH
    if arguments.faults:
        raise BadSelection("--damage, --faults: a run is of one of them; do the other in a second run")
    if arguments.planted:
        raise BadSelection(
            "--damage: --planted does to each bug what its header asks for, damage too; leave --damage out"
        )
    if parse_models(arguments.models) != DEFAULT_MODELS:
        raise BadSelection(
            "--damage: it is done to states of model O; leave --models out, or run them by themselves"
        )
    return DAMAGE


def asked_config(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The verdicts are those of the kernels that are measured: with what measuring asks of their config.
    Errors: BadKernel."""
    return check_variants((*arguments.config, *(() if arguments.perf is None else ("perf",))))


def asked_kernels(arguments: argparse.Namespace) -> tuple[str, ...]:
    return (arguments.against, arguments.kernel) if arguments.against else (arguments.kernel,)


def do_run(run_spec: RunSpec, arguments: argparse.Namespace, resume: Path | None) -> int:
    with Progress(arguments.quiet or arguments.json) as progress:
        folder, summary = run(run_spec, arguments.out, progress, resume)
    if arguments.perf is not None:
        if not arguments.json:
            print("\n".join(compare_lines(folder)))
        return perf.beside(folder, arguments, summary.exit)
    if arguments.json:
        answer = "compare.json" if run_spec.against else "summary.json"
        sys.stdout.buffer.write((folder / answer).read_bytes())
    elif run_spec.against:
        print("\n".join(compare_lines(folder)))
    else:
        print("\n".join(summary_lines(summary, read_question(folder), report_page(folder))))
        if summary.detection:
            oracles = [oracle.NAME for oracle in EVERY_ORACLE]
            print("\n".join(["", *table(summary.detection, summary.stock, oracles)]))
    return summary.exit


def resume_run(arguments: argparse.Namespace) -> int:
    """The question is the one the run was started with; what is done is not done again."""
    folder: Path = arguments.resume
    question = read_question_of(folder)
    original = parser().parse_args(list(question.command[1:]))
    if original.command not in ("run", "compare"):
        raise NoResults(f"{folder}: made by {original.command}, and only a run can go on")
    original.resume, original.quiet, original.json = folder, arguments.quiet, arguments.json
    original.words = list(question.command[1:])
    run_spec = RunSpec(
        workloads=chosen_workloads(original),
        profiles=tuple(profile(name) for name in question.profiles),
        kernels=tuple(question.kernels),
        config=asked_config(original),
        tier=Tier(question.tier),
        models=parse_models(original.models),
        budget=original.budget,
        atomic_bytes=original.atomic,
        jobs=arguments.jobs or question.jobs,
        seed=question.seed,
        with_fsck=not original.no_fsck,
        log_bytes=original.log_size,
        guest=question.guest,
        command=question.command,
        against=question.against,
        kind=kind_of(original),
    )
    if original.planted:  # bugs that were planted since are not part of this run
        run_spec = swept(run_spec, original, tuple(question.kernels))
    return do_run(run_spec, original, folder.resolve())


def swept(run_spec: RunSpec, arguments: argparse.Namespace, kernels: tuple[str, ...] = ()) -> RunSpec:
    """The same for each planted bug on its own profiles (of those asked for) and for the kernel without it.
    kernels: only these kernel specs; none means all."""
    workloads = (
        generated(arguments)
        if arguments.generate is not None
        else select(tuple(arguments.workloads), arguments.keyword)
    )
    every = ",".join(one.name for one in PROFILES)
    wanted = chosen_profiles(every if arguments.fs is None else arguments.fs)
    bugs, left_out = plantable(arguments.kernel, planted_bugs())
    for sentence in left_out:
        print(f"left out: {sentence}", file=sys.stderr)
    bugs = [bug for bug in bugs if not kernels or f"{arguments.kernel}+{bug.name}" in kernels]
    parts = sweep_parts(arguments.kernel, bugs, workloads, wanted)
    return msgspec.structs.replace(
        run_spec,
        workloads=workloads,
        profiles=tuple(dict.fromkeys(part.profile for part in parts)),
        kernels=tuple(dict.fromkeys(part.kernel for part in parts)),
        parts=parts,
    )


def chosen_workloads(arguments: argparse.Namespace) -> tuple:  # type: ignore[type-arg]
    if arguments.generate is not None:
        return generated(arguments)
    refuse_part(arguments)
    if not arguments.workloads and arguments.keyword is None:
        return select(DEMONSTRATION)
    chosen = select(tuple(arguments.workloads), arguments.keyword)
    return done_alone(chosen, arguments) if arguments.faults or arguments.cross_check else chosen


def done_alone(chosen: tuple, arguments: argparse.Namespace) -> tuple:  # type: ignore[type-arg]
    """Without those whose threads take turns otherwise each time: a point of one run is none of the next.
    Errors: BadSelection when no other is left."""
    kind = "--faults" if arguments.faults else "--cross-check"
    kept = tuple(workload for workload in chosen if not workload.parallel)
    if not kept:
        raise BadSelection(
            f"{kind} runs a workload again and again, and these have parallel blocks; try them without"
        )
    for workload in chosen:
        if workload.parallel and not arguments.quiet:
            print(f"left out of {kind}: {workload.name}, which has parallel blocks", file=sys.stderr)
    return kept


def chosen_profiles(text: str) -> tuple:  # type: ignore[type-arg]
    """Errors: UnknownProfile, NoFilesystemTool before anything is built."""
    profiles = tuple(dict.fromkeys(profile(name.strip()) for name in text.split(",") if name.strip()))
    if not profiles:
        raise UnknownProfile("--fs: name at least one profile")
    for one in profiles:
        for command in (one.mkfs, one.fsck):
            find_tool(command[0], one.package)
    return profiles


def report_page(folder: Path) -> Path:
    return Path(shown(folder)) / "report" / "index.html"


def read_question_of(folder: Path) -> Question:
    """Errors: NoResults."""
    try:
        return read_question(folder)
    except UnknownFormat as error:
        raise NoResults(str(error)) from error
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoResults(f"{folder}: no run of ours: {error}") from error


def command_judge(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.run
    question = read_question_of(folder)
    tier = Tier(arguments.tier or question.tier)
    with reading(folder):
        before = read_summary(folder) if (folder / "summary.json").exists() else None
    started = time.monotonic()
    with only_one(folder):
        for place in experiment_folders(folder):
            judge_experiment(place, tier)
        wall_s = before.rates.get("wall_s", 0.0) if before else time.monotonic() - started
        summary = finish(folder, wall_s, before.rates.get("guest_boots", 0) if before else 0)
    if not arguments.quiet:
        print("\n".join(summary_lines(summary, question, report_page(folder))))
    if tier != question.tier:
        note = f"judged at tier {tier}, in place of the run's own {question.tier}"
        print(f"{note}, which comes back with: powercut judge {shown(folder)}", file=sys.stderr)
    return summary.exit


def judge_experiment(place: Path, tier: Tier) -> None:
    """Its verdicts, given anew. Errors: NoResults, OSError."""
    with reading(place):
        experiment = read_experiment(place)
    if experiment.history is None:
        return
    judgement = judge_again(experiment, profile(experiment.facts.profile), tier)
    write_whole(place / "verdicts.json.zst", compress(msgspec.json.encode(judgement)))
    facts = msgspec.structs.replace(experiment.facts, tier=tier)
    write_whole(place / "experiment.json", formats.encode("experiment.json", facts))


def command_report(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.run
    read_question_of(folder)
    if perf.page_again(folder):
        if not arguments.quiet:
            print(Path(shown(folder)) / "report" / "perf.html")
        return 0
    if not (folder / "summary.json").exists():
        raise NoResults(f"{folder}: no summary.json; the run was stopped: powercut run --resume {folder}")
    with reading(folder), only_one(folder):
        before = read_summary(folder)
        if experiments_missing(folder) and before.exit == EXIT_HOLDS:  # what was there then is gone
            finish(folder, before.rates.get("wall_s", 0.0), before.rates.get("guest_boots", 0))
        else:
            write_pages(folder)
    if not arguments.quiet:
        print(report_page(folder))
    return status_of(folder, EXIT_HOLDS)


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
        raise NoResults(f"{folder}: made by run with one kernel; two are compared by compare --against")
    command_report(argparse.Namespace(run=folder, quiet=True))
    if arguments.json:
        sys.stdout.buffer.write((folder / "compare.json").read_bytes())
    else:
        print("\n".join(compare_lines(folder)))
    return status_of(folder, read_summary(folder).exit)


def command_bisect(arguments: argparse.Namespace) -> int:
    def step_run_spec(command: tuple[str, ...], kernel: str) -> RunSpec:
        """The options it was started with, on this kernel."""
        words = run_words(command, kernel)
        original = parser().parse_args(words)
        original.words = words
        return run_spec_of(original)

    if arguments.step:
        return step_status(arguments.step, step_run_spec)
    return hunt(arguments, step_run_spec)


def command_repro(arguments: argparse.Namespace) -> int:
    finding = arguments.finding
    if finding and not is_finding(finding):
        raise NoResults(f"{finding}: no finding's name; they are F1, F2 ...")
    if arguments.times:
        return command_repeat(arguments)
    shown_again = locate(arguments.run, finding, arguments.state)
    return repro(shown_again, arguments.keep, arguments.shell, arguments.config, arguments.guest)


def command_repeat(arguments: argparse.Namespace) -> int:
    """1 when it was seen again on its own kernel, 0 when not, 3 when it could not be examined."""
    with Progress() as progress:
        finding, _ = rerun_one(arguments.run, arguments.finding, arguments.times, progress)
        write_pages(arguments.run)
    repeats = finding.after.repeats
    print(f"{finding.id} {finding.signature}: {rerun_words(repeats)}")
    if any(repeat.trouble for repeat in repeats):
        return EXIT_UNKNOWN
    return EXIT_BROKEN if repeats[0].shown else status_of(arguments.run, EXIT_HOLDS)


def command_list(arguments: argparse.Namespace) -> int:
    workloads = select((), arguments.keyword) if arguments.keyword else library()
    print(f"workloads ({len(workloads)}):")
    for workload in workloads:
        print(
            f"  {workload.theme + '/' + workload.name:<58} {workload.comment[0] if workload.comment else ''}"
        )
    if arguments.keyword:
        return 0
    print("profiles:")
    for one in PROFILES:
        options = f"mount -o {one.mount_options}" if one.mount_options else ""
        print(f"  {one.name:<58} {' '.join(one.mkfs)} {options}".rstrip())
    print("oracles:")
    for oracle in EVERY_ORACLE:
        print(f"  {oracle.NAME:<58} {oracle.CHECKS}")
    print("performance experiments:")
    for experiment in perf_library():
        print(f"  {experiment.name:<58} {experiment.about}")
    print("series:")
    for change in series():
        print(f"  {change.name:<58} {change.about}")
    return 0


def command_doctor(arguments: argparse.Namespace) -> int:
    from harness.commands.doctor import doctor  # noqa: PLC0415  only this command boots a guest to see whether one does

    return doctor(arguments.json)


def command_bench(arguments: argparse.Namespace) -> int:
    from harness.bench.bench import bench  # noqa: PLC0415  only this command measures

    return bench(arguments)


def command_test(arguments: argparse.Namespace) -> int:
    from harness.commands.test import test  # noqa: PLC0415  needs pytest, which a user's environment has not

    return test(arguments.arguments)


def command_later(arguments: argparse.Namespace) -> int:
    raise BadSpec(f"{arguments.command}: not built yet ({LATER[arguments.command]})")


COMMANDS = {
    "run": command_run,
    "compare": command_compare,
    "bisect": command_bisect,
    "judge": command_judge,
    "report": command_report,
    "repro": command_repro,
    "minimize": command_minimize,
    "export": command_export,
    "kernel": command_kernel,
    "list": command_list,
    "generate": command_generate,
    "import": command_import,
    "doctor": command_doctor,
    "bench": command_bench,
    "test": command_test,
    **dict.fromkeys(LATER, command_later),
}


def understood(words: list[str]) -> argparse.Namespace:
    """What follows `test` and the commands to come is not ours to read; argparse trips over its options."""
    if words and words[0] in ("test", *LATER):
        return argparse.Namespace(command=words[0], arguments=words[1:])
    arguments = parser().parse_args(words)
    arguments.words = words
    return arguments


def main(words: list[str] | None = None) -> int:
    arguments = understood(sys.argv[1:] if words is None else words)
    try:
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
