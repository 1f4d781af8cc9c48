"""
`powercut run`, and what compare and bisect have in common with it.

In:       the arguments.
Out:      a RunSpec; its run, or its cross-check; the exit status.
Not here: doing it (runs/run.py, runs/cross_check.py), two kernels (compare.py).
"""

import argparse
import re
import sys
from pathlib import Path

import msgspec

from harness.commands import perf
from harness.commands.arguments import (
    DEFAULT_KERNEL,
    add_atomic,
    add_guest,
    add_jobs,
    add_out,
    add_prefixes,
    chosen_profiles,
    compare_lines,
    compare_status,
    percent,
    positive,
    read_question_of,
    report_page,
    size,
)
from harness.commands.generate import (
    add_generated,
    generated,
    refuse_part,
)
from harness.commands.kernel import config_option
from harness.evidence.detection import table
from harness.evidence.store import NoResults
from harness.evidence.summary import experiment_folders
from harness.evidence.sweep import plantable, planted_bugs, sweep_parts
from harness.guests.spec import CPUS_MAX, SSH, UML, family
from harness.hosts.running import RUNNING
from harness.local.progress import Progress
from harness.runs.cross_check import cross
from harness.runs.cross_check import lines as cross_lines
from harness.runs.cross_check import status as cross_status
from harness.runs.recoveries import THERE, WAYS
from harness.runs.run import LOG_BYTES, RunSpec, run
from harness.stages.checks import AUDIT_PERCENT
from harness.stages.explore import DEFAULT_BUDGET
from harness.states.crash import DEFAULT_MODELS, parse_models
from kernel.fragments import check_variants
from oracles.judge import EVERY_ORACLE
from oracles.profiles import PROFILES, profile
from oracles.verdict import Tier
from reports.results import (
    CRASH,
    DAMAGE,
    DEVICES,
    FAST,
    FAULTS,
    SLOW,
    read_experiment,
    read_question,
)
from reports.terminal.programs import program_lines, rows_of
from reports.terminal.terminal import summary_lines
from workloads import programs
from workloads.cold import cold
from workloads.library import DEMONSTRATION, FAULTED, BadSelection, select
from workloads.text import FUNCTION_NAME


def add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "workloads",
        metavar="WORKLOAD",
        nargs="*",
        help="names or globs of the library, programs/NAME, or files of your own (default: the demonstration "
        "set)",
    )
    command.add_argument(
        "-k",
        dest="keyword",
        metavar="EXPR",
        help="choose workloads of the library by words, like pytest's -k",
    )
    add_generated(command)
    command.add_argument(
        "--fs", metavar="P,...", help="profiles, such as btrfs,ext4 (default: btrfs; with --planted: all)"
    )
    command.add_argument(
        "--kernel",
        metavar="K",
        help="kernel under test, SOURCE[+SERIES...] (default: 6.12); several with commas between them, for "
        "findings side by side; of a machine also `running`, what runs there (its default)",
    )
    config_option(command)
    command.add_argument(
        "--models",
        default="O",
        metavar="O,R,T,N,A,M",
        help="crash models: O ordered, R reordered, T torn, N nested, A used afterwards, M of several "
        "devices (default: O)",
    )
    command.add_argument(
        "--device",
        metavar="D,...",
        help="devices under the recording: fast; slow, which completes writes late and out of order "
        "(default: fast; with --planted: as the header of each bug says)",
    )
    command.add_argument(
        "--budget",
        type=positive,
        default=DEFAULT_BUDGET,
        metavar="N",
        help="states to check of each model except O, and damages to try, in each experiment "
        f"(default: {DEFAULT_BUDGET})",
    )
    add_prefixes(command)
    add_atomic(command)
    command.add_argument(
        "--cpus",
        type=positive,
        default=1,
        metavar="N",
        help="processors of the guest that records; with several, threads of parallel blocks meet anywhere, "
        "and no two recordings are the same (default: 1)",
    )
    command.add_argument(
        "--cold",
        action="store_true",
        help="mount the filesystem anew between setup and run: nothing of what setup made is in memory then",
    )
    command.add_argument(
        "--orders",
        type=positive,
        default=1,
        metavar="N",
        help="recordings of each workload with parallel blocks: the first as it is written, the others with "
        "delays that the seed draws (default: 1)",
    )
    command.add_argument(
        "--stops",
        type=positive,
        default=0,
        metavar="N",
        help="recordings of each workload, beside the others, in which one call stops in the middle of the "
        "kernel, where it enters or leaves a function that the seed draws, while another call is made "
        "(default: 0)",
    )
    command.add_argument(
        "--near",
        type=functions_named,
        default=(),
        metavar="FUNCTION,...",
        help="with --stops: calls stop in these functions of the kernel and in what they call, and workloads "
        "that do not come there get no such recordings; anywhere: near no function (default: those that the "
        "series of the kernel change, where it has any)",
    )
    command.add_argument(
        "--tier",
        choices=[t.value for t in Tier],
        default=Tier.FS.value,
        help="how much is asked: posix, the manual pages; somc, ordered metadata; fs, what the filesystem "
        "documents and its own tests demand (default: fs)",
    )
    add_jobs(command)
    add_out(command)
    command.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of everything that is drawn at random (default: 0)",
    )
    command.add_argument(
        "--log-size",
        type=size,
        default=LOG_BYTES,
        metavar="SIZE",
        help="size of the log device (default: 64M)",
    )
    command.add_argument(
        "--no-fsck",
        action="store_true",
        help="do not run the filesystem checker on recovered states, which is faster",
    )
    command.add_argument(
        "--audit",
        type=percent,
        default=AUDIT_PERCENT,
        metavar="PERCENT",
        help="how many of the states that are proven by an earlier recovery are recovered all the same, and "
        "for how many of the checker's answers that are proven the checker runs; one difference ends the run "
        f"(default: {AUDIT_PERCENT:g})",
    )
    add_guest(command, UML, "uml")
    command.add_argument(
        "--recover",
        type=ways,
        default=(),
        metavar="WAY,...",
        help="of a run on a machine: recover the states in these ways, too, and compare: here, in User Mode "
        "Linux with a kernel of the same source; disk, on the real disk itself, the states at the end of "
        "each operation",
    )
    command.add_argument("--resume", type=Path, metavar="DIR", help="continue a run that was stopped")
    command.add_argument(
        "--planted",
        action="store_true",
        help="run every kernel with a planted bug on the profiles that its header names, and the stock "
        "kernel beside it; exit status 0 when every bug is found and the stock kernel shows only known "
        "findings",
    )
    command.add_argument(
        "--faults",
        action="store_true",
        help="let the device fail, one write at a time, instead of the power",
    )
    command.add_argument(
        "--damage",
        action="store_true",
        help="flip a bit or zero a sector in blocks that recovery reads, --budget times in each experiment",
    )
    command.add_argument(
        "--failing-blocks",
        action="store_true",
        help="let one block fail while a state is recovered: each that recovery reads, and each that it "
        "writes, --budget times in each experiment; then mount the sound disk",
    )
    command.add_argument(
        "--cross-check",
        action="store_true",
        help="compare the state at the end of each operation with what dm-flakey leaves; no verdicts",
    )
    command.add_argument(
        "--no-coverage",
        action="store_true",
        help="do not run the workloads once more on the build that counts which lines of the series run; "
        "otherwise done where that build is in the cache (powercut coverage makes it)",
    )
    command.add_argument(
        "--no-attribute",
        action="store_true",
        help="do not find out which known bug a finding is that no ID claims. Else, on a stock kernel of "
        "Debian, its workload is recorded again with fixes of known bugs; each needs a kernel, built once",
    )
    command.add_argument(
        "--json", action="store_true", help="print summary.json on standard output and nothing else"
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")
    command.set_defaults(against="", perf=None)


def command_run(arguments: argparse.Namespace) -> int:
    if arguments.cross_check:
        return command_cross_check(arguments)
    if arguments.resume:
        return resume_run(arguments)
    return do_run(run_spec_of(arguments), arguments, None)


def command_cross_check(arguments: argparse.Namespace) -> int:
    if arguments.resume or arguments.planted or arguments.against or arguments.faults or arguments.damage:
        raise BadSelection(
            "--cross-check can be combined with workloads, --fs and --kernel, and not with "
            "another kind of run"
        )
    with Progress(arguments.quiet or arguments.json) as progress:
        folder, checked = cross(run_spec_of(arguments), arguments.out, progress)
    if arguments.json:
        sys.stdout.buffer.write((folder / "cross-check.json").read_bytes())
    else:
        print("\n".join(cross_lines(folder, checked)))
    return cross_status(checked)


def run_spec_of(arguments: argparse.Namespace) -> RunSpec:
    workloads = chosen_workloads(arguments)
    run_spec = RunSpec(
        workloads=workloads,
        profiles=chosen_profiles("btrfs" if arguments.fs is None else arguments.fs),
        kernels=asked_kernels(arguments),
        config=asked_config(arguments),
        tier=Tier(arguments.tier),
        models=parse_models(arguments.models),
        budget=arguments.budget,
        prefixes=arguments.prefixes,
        atomic_bytes=arguments.atomic,
        jobs=arguments.jobs,
        seed=arguments.seed,
        with_fsck=not arguments.no_fsck,
        audit_percent=arguments.audit,
        log_bytes=arguments.log_size,
        guest=arguments.guest,
        recover=ways_of(arguments),
        command=("powercut", *arguments.words),
        against=arguments.against,
        kind=kind_of(arguments),
        failing=arguments.failing_blocks,
        devices=asked_devices(arguments),
        repeats=all(workload.program is None for workload in workloads),
        coverage=not arguments.no_coverage,
        attribute=not (arguments.no_attribute or arguments.against),
        cpus=asked_cpus(arguments),
        orders=asked_orders(arguments),
        stops=asked_stops(arguments),
        near=asked_near(arguments),
    )
    return swept(run_spec, arguments) if arguments.planted else run_spec


def settle_kernel(arguments: argparse.Namespace) -> None:
    """The default of --kernel depends on the guest."""
    if arguments.kernel is None:
        arguments.kernel = RUNNING if family(arguments.guest) == SSH else DEFAULT_KERNEL


def ways(text: str) -> tuple[str, ...]:
    """Errors: argparse.ArgumentTypeError."""
    wanted = tuple(dict.fromkeys(text.split(",")))
    if unknown := set(wanted) - set(WAYS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: the ways are {', '.join(WAYS)}")
    return tuple(way for way in wanted if way != THERE)


def ways_of(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Errors: BadSelection."""
    if arguments.recover and family(arguments.guest) != SSH:
        raise BadSelection(
            f"--recover {','.join(arguments.recover)} is for runs on a machine: name one by --guest NAME"
        )
    return tuple(arguments.recover)


def kind_of(arguments: argparse.Namespace) -> str:
    """Errors: BadSelection."""
    kinds = [
        option
        for option, given in (
            ("--faults", arguments.faults),
            ("--damage", arguments.damage),
            ("--failing-blocks", arguments.failing_blocks),
        )
        if given
    ]
    if not kinds:
        return CRASH
    if arguments.prefixes:
        raise BadSelection(f"--prefixes is about power failures. It cannot be combined with {kinds[0]}")
    if len(kinds) > 1:
        raise BadSelection(f"{kinds[0]} and {kinds[1]} cannot be combined. Use two runs")
    if arguments.faults:
        return FAULTS
    if arguments.planted:
        raise BadSelection(
            f"{kinds[0]} cannot be combined with --planted, which does it where the header of a bug requests "
            f"it. Leave {kinds[0]} out"
        )
    if parse_models(arguments.models) != DEFAULT_MODELS:
        raise BadSelection(
            f"{kinds[0]} is applied only to states of model O. Leave --models out, or use a second "
            "run for the other models"
        )
    return DAMAGE


def asked_config(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The verdicts are those of the kernels that are measured: with what measuring asks of their config.
    Errors: BadKernel."""
    beside = () if arguments.perf is None else (perf.config_variant(arguments.guest),)
    return check_variants((*arguments.config, *beside))


def asked_devices(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Errors: BadSelection."""
    if arguments.device is None:
        return (FAST,)
    devices = tuple(dict.fromkeys(name.strip() for name in arguments.device.split(",") if name.strip()))
    unknown = [name for name in devices if name not in DEVICES]
    if unknown or not devices:
        said = f"{unknown[0]!r} is not a device" if unknown else "no device is named"
        raise BadSelection(f"--device: {said}. The devices are {' and '.join(DEVICES)}")
    if arguments.planted:
        raise BadSelection(
            "--device cannot be combined with --planted, which uses the device that the header of a bug "
            "names. Leave --device out"
        )
    if SLOW in devices and (
        arguments.faults or arguments.damage or arguments.failing_blocks or arguments.cross_check
    ):
        raise BadSelection(
            "--device slow cannot be combined with --faults, --damage, --failing-blocks or --cross-check, "
            "which have devices of their own. Use two runs"
        )
    if arguments.against and len(devices) > 1:
        raise BadSelection("compare: --device takes one device. Use a comparison for each")
    return devices


def asked_cpus(arguments: argparse.Namespace) -> int:
    """Errors: BadSelection."""
    count: int = arguments.cpus
    if count > CPUS_MAX:
        raise BadSelection(f"--cpus {count}: a guest has {CPUS_MAX} processors at most")
    if count > 1 and family(arguments.guest) == SSH:
        raise BadSelection(
            f"--cpus {count}: {arguments.guest} has the processors that it has. Leave --cpus out"
        )
    if count > 1 and (arguments.faults or arguments.cross_check):
        kind = "--faults" if arguments.faults else "--cross-check"
        raise BadSelection(
            f"{kind} runs a workload repeatedly and needs the same log each time, which several processors "
            "do not give. Leave --cpus out"
        )
    return count


def asked_orders(arguments: argparse.Namespace) -> int:
    """Errors: BadSelection."""
    count: int = arguments.orders
    if count > 1 and arguments.against:
        raise BadSelection("compare: --orders cannot be used, because both kernels get the same workloads")
    return count


def asked_stops(arguments: argparse.Namespace) -> int:
    """Errors: BadSelection."""
    count: int = arguments.stops
    if not count:
        return 0
    if arguments.against or arguments.cross_check:
        raise BadSelection(
            "--stops cannot be used with compare and --cross-check, which record one workload twice"
        )
    if kind_of(arguments) != CRASH:
        raise BadSelection("--stops cannot be used with --faults, --damage or --failing-blocks")
    if family(arguments.guest) == SSH:
        raise BadSelection("--stops needs a kernel that Powercut builds for a guest of this machine")
    return count


def functions_named(text: str) -> tuple[str, ...]:
    """Errors: argparse.ArgumentTypeError."""
    names = tuple(dict.fromkeys(text.split(",")))
    if odd := [name for name in names if not re.fullmatch(FUNCTION_NAME, name)]:
        raise argparse.ArgumentTypeError(f"{odd[0]!r} is not the name of a function in C")
    return names


def asked_near(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Errors: BadSelection."""
    near: tuple[str, ...] = arguments.near
    if near and not arguments.stops:
        raise BadSelection(
            "--near says where calls stop. Add --stops N, how many recordings have such a stop"
        )
    return near


def asked_kernels(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Errors: BadSelection."""
    words = tuple(dict.fromkeys(word.strip() for word in arguments.kernel.split(",")))
    if len(words) > 1 and not all(words):  # bisect asks before it has a kernel
        raise BadSelection(f"--kernel {arguments.kernel}: a name is missing beside a comma")
    if len(words) > 1 and (arguments.against or arguments.planted or arguments.cross_check):
        raise BadSelection(
            f"--kernel {arguments.kernel}: several kernels are for run and coverage. compare, --planted and "
            "--cross-check take one"
        )
    if len(words) > 1 and family(arguments.guest) == SSH:
        raise BadSelection(
            f"--kernel {arguments.kernel}: a machine runs one kernel at a time. Use a run for each"
        )
    return (arguments.against, *words) if arguments.against else words


def do_run(run_spec: RunSpec, arguments: argparse.Namespace, resume: Path | None) -> int:
    with Progress(arguments.quiet or arguments.json) as progress:
        folder, summary = run(run_spec, arguments.out, progress, resume)
    if run_spec.against:
        return tell_comparison(folder, arguments)
    if arguments.json:
        sys.stdout.buffer.write((folder / "summary.json").read_bytes())
    else:
        print("\n".join(summary_lines(summary, read_question(folder), report_page(folder))))
        if table_of := program_table(run_spec, folder):
            print("\n".join(["", *table_of]))
        if summary.detection:
            oracles = [oracle.NAME for oracle in EVERY_ORACLE]
            print("\n".join(["", *table(summary.detection, summary.stock, oracles)]))
    return summary.exit


def program_table(run_spec: RunSpec, folder: Path) -> list[str]:
    """A line for each experiment with a program that has a script of its own."""
    if all(workload.program is None for workload in run_spec.workloads):
        return []
    return program_lines(rows_of(read_experiment(one) for one in experiment_folders(folder)))


def tell_comparison(folder: Path, arguments: argparse.Namespace) -> int:
    """The last lines or the data, with those of performance where it was asked for, and the exit status."""
    measured = arguments.perf is not None
    status = compare_status(folder, arguments.only_new)
    if not arguments.json:
        print("\n".join(compare_lines(folder, arguments.only_new)))
    elif not measured:
        sys.stdout.buffer.write((folder / "compare.json").read_bytes())
    return perf.beside(folder, arguments, status) if measured else status


def resume_run(arguments: argparse.Namespace) -> int:
    """The question is the one the run was started with; what is done is not done again."""
    folder: Path = arguments.resume
    question = read_question_of(folder)
    original = arguments.understood(list(question.command[1:]))
    if original.command not in ("run", "compare"):
        raise NoResults(
            f"{folder} was made by powercut {original.command}, and only run and compare can be continued"
        )
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
        prefixes=original.prefixes,
        atomic_bytes=original.atomic,
        jobs=arguments.jobs or question.jobs,
        seed=question.seed,
        with_fsck=not original.no_fsck,
        audit_percent=original.audit,
        log_bytes=original.log_size,
        guest=question.guest,
        recover=question.recover,
        command=question.command,
        against=question.against,
        kind=kind_of(original),
        devices=asked_devices(original),
        coverage=not original.no_coverage,
        attribute=not (original.no_attribute or original.against),
        cpus=asked_cpus(original),
        orders=asked_orders(original),
        stops=asked_stops(original),
        near=asked_near(original),
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
    workloads = as_cold_as_asked(workloads, arguments)
    every = ",".join(one.name for one in PROFILES)
    wanted = chosen_profiles(every if arguments.fs is None else arguments.fs)
    bugs, left_out = plantable(arguments.kernel, planted_bugs())
    bugs = [bug for bug in bugs if not kernels or f"{arguments.kernel}+{bug.name}" in kernels]
    parts = sweep_parts(arguments.kernel, bugs, workloads, wanted)
    for sentence in left_out:
        print(f"left out: {sentence}", file=sys.stderr)
    return msgspec.structs.replace(
        run_spec,
        workloads=workloads,
        profiles=tuple(dict.fromkeys(part.profile for part in parts)),
        kernels=tuple(dict.fromkeys(part.kernel for part in parts)),
        parts=parts,
    )


def chosen_workloads(arguments: argparse.Namespace) -> tuple:  # type: ignore[type-arg]
    return as_cold_as_asked(named_workloads(arguments), arguments)


def as_cold_as_asked(workloads: tuple, arguments: argparse.Namespace) -> tuple:  # type: ignore[type-arg]
    return tuple(map(cold, workloads)) if arguments.cold else workloads


def named_workloads(arguments: argparse.Namespace) -> tuple:  # type: ignore[type-arg]
    if arguments.generate is not None:
        return generated(arguments)
    refuse_part(arguments)
    if not arguments.workloads and arguments.keyword is None:
        return select(FAULTED if arguments.faults else DEMONSTRATION)
    words = tuple(word for word in arguments.workloads if not programs.is_program(word))
    of_programs = programs.select(word for word in arguments.workloads if programs.is_program(word))
    if of_programs:
        require_plain(arguments)
        return (*of_programs, *(select(words, arguments.keyword) if words else ()))
    chosen = select(words, arguments.keyword)
    return done_alone(chosen, arguments) if arguments.faults or arguments.cross_check else chosen


def require_plain(arguments: argparse.Namespace) -> None:
    """What of the command line cannot be asked of a program; run() refuses the rest. Errors: BadSelection."""
    for option in ("faults", "damage", "failing_blocks", "cross_check", "planted"):
        if getattr(arguments, option):
            raise BadSelection(
                f"--{option.replace('_', '-')} cannot be combined with a program: it runs workloads whose "
                "operations are known. Leave it out"
            )


def done_alone(chosen: tuple, arguments: argparse.Namespace) -> tuple:  # type: ignore[type-arg]
    """Without those whose threads take turns otherwise each time: a point of one run is none of the next.
    Errors: BadSelection when no other is left."""
    kind = "--faults" if arguments.faults else "--cross-check"
    kept = tuple(workload for workload in chosen if not workload.parallel)
    if not kept:
        raise BadSelection(
            f"{kind} runs a workload repeatedly and needs the same order of calls each time, and "
            f"all these workloads have parallel blocks. Run them without {kind}"
        )
    for workload in chosen:
        if workload.parallel and not arguments.quiet:
            print(f"left out of {kind}: {workload.name}, because it has parallel blocks", file=sys.stderr)
    return kept
