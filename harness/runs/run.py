"""
The main job: every power cut of every workload, on every profile and kernel asked for.

In:       a RunSpec: what the command line says.
Out:      results/<run>/ with the evidence, the summary and the report.
Not here: one experiment (experiments/experiment.py), the command line (main.py), the numbers (summary.py).

Experiments are dealt out to workers, one process and one guest each. A worker's end, by Ctrl-C, SIGTERM
or the death of its parent, takes its guest and its scratch folder with it (workspace.py).
"""

import contextlib
import errno
import os
import platform
import shutil
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from textwrap import indent
from typing import Any

import msgspec

from harness.evidence.bugs import bug_texts
from harness.evidence.store import (
    NoResults,
    new_run,
    only_one,
    partial_folder,
    point_latest,
    reading,
    remove_partial,
    write_question,
    write_summary,
    write_whole,
)
from harness.evidence.summary import experiment_folders, shown, sum_up
from harness.evidence.sweep import Part
from harness.experiments.examination import UNRECORDED
from harness.experiments.experiment import Outcome, not_done, run_experiment
from harness.experiments.plan import Plan
from harness.guests.agent_binary import AgentError, agent_binary, agent_of
from harness.guests.filesystem import make_filesystem, tool_version
from harness.guests.guest import GuestSlot, GuestSpec
from harness.guests.kernels import build_for, by_key, kernel_path
from harness.guests.machine import boot_there, claimed_disk, require_claims
from harness.guests.probe import NoGuest, accelerated, prefer
from harness.guests.spec import AARCH64, LOG_BYTES, SSH, UML, family, host_of, machine_of
from harness.hosts.hosts import BadHost, host
from harness.hosts.ssh import Unreachable
from harness.local import version
from harness.local.processors import processors
from harness.local.progress import Progress
from harness.local.workspace import Workspace, is_full, workspace
from harness.runs.attribution import attribute_new, unclaimed
from harness.runs.coverage import cover
from harness.runs.near import near_of, require_near, tell_near
from harness.runs.pool import TRIES, Lost, Pool, PoolFailed, Said, begin_worker
from harness.runs.recoveries import again
from harness.runs.reruns import rerun_new
from harness.stages.checks import AUDIT_PERCENT, AuditFailed
from harness.stages.entered import entered
from harness.stages.explore import DEFAULT_BUDGET, StatePlan
from harness.stages.gcov import NotCounted
from harness.states.crash import DEFAULT_MODELS
from harness.states.disk import copy_sparse
from harness.states.log import SECTOR_BYTES
from kernel.build import find
from kernel.fragments import SMP, check_variants
from kernel.kernel import Kernel, KernelError
from kernel.profiling import VARIANT
from oracles.judge import EVERY_ORACLE
from oracles.profiles import Profile
from oracles.spec import Damage, in_order
from oracles.verdict import Tier
from reports.ci.junit import write_junit
from reports.ci.ktap import write_ktap
from reports.coverage.results import FILE as COVERAGE
from reports.formats import NOT_KNOWN
from reports.pages.html import write_report
from reports.results import (
    BLOCK_MS,
    CRASH,
    FAST,
    FAULTS,
    Device,
    Question,
    Summary,
    read_experiment,
    read_question,
    read_recoveries,
)
from workloads.delays import delayed
from workloads.library import BadSelection
from workloads.stops import Entered, comes_near, stopped
from workloads.text import BadWorkload, parse
from workloads.text import format as format_workload
from workloads.text import format_operation as words
from workloads.workload import STOPS, Workload

# What an experiment leaves, pages included; a run that has less than this is not started.
EXPERIMENT_BYTES = 100 << 10
RESULTS_BYTES = 64 << 20
# The setup of a program is in the log, too: it may write much. The log is a file with holes.
PROGRAM_LOG_BYTES = 256 << 20
ENTERED = "entered.json"  # CallsOf of each workload that is recorded with stops
COUNTED = "counted"  # the folder of the run of count_lines(), while it is made
AUDIT_FAILED = "audit-failed"  # the folder of keep_disks()
# Two logs of one kernel differ in 4 % of the library; so three of A are held against three of B.
COMPARED_RECORDINGS = 3
BLOCKS_MS = (BLOCK_MS, 0, 0, 1)  # of the orders in turn, the first one as it is written
STOPPED_MAX = 100  # operations of a workload that is recorded with stops
STOPPED_MS = (0, 0, 0, 1)  # of recordings with a stop in turn


class NoRoom(Exception):
    """A folder has too little space for what is to come."""


class RunSpec(msgspec.Struct, frozen=True):
    """What is to be done. kernels: kernel specs, each built with the config variants.
    jobs: 0 for as many as processors. guest: of words.WANTED.
    parts: when not every workload is for every profile and kernel (sweep.py).
    against: of `compare`, the one of the kernels that the other is held against.
    kind: of results.KINDS; a workload with fault lines is of kind FAULTS in any case.
    repeats: whether new findings are repeated (reruns.py). attribute: whether findings that no known bug
    claims are attributed by fixes (attribution.py), which builds kernels. damages, prefixes, failing: of
    StatePlan.
    devices: of results.DEVICES, each what every workload is recorded on. device_seed: of the slow one; -1
    draws it for each workload. audit_percent: of checks.Audit.
    recover: of recoveries.WAYS, beside "there". coverage: whether the lines of series are counted where that
    needs no build. cpus: of the guest that records. orders: recordings of each workload with parallel blocks,
    the first as it is written, the others with delays that the seed draws; 0 for one. block_ms: of Device; -1
    for one that goes with the order. stops: recordings of each workload in which a call stops in the
    middle of the kernel (workloads/stops.py), beside the others. near: the functions near which they stop, of
    near.py."""

    workloads: tuple[Workload, ...]
    profiles: tuple[Profile, ...]
    kernels: tuple[str, ...]
    config: tuple[str, ...] = ()
    tier: Tier = Tier.FS
    models: tuple[str, ...] = DEFAULT_MODELS
    budget: int = DEFAULT_BUDGET
    atomic_bytes: int = 0
    jobs: int = 0
    seed: int = 0
    with_fsck: bool = True
    log_bytes: int = LOG_BYTES
    guest: str = UML
    command: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    against: str = ""
    kind: str = CRASH
    repeats: bool = True
    attribute: bool = False
    damages: tuple[Damage, ...] = ()
    prefixes: int = 0
    devices: tuple[str, ...] = (FAST,)
    device_seed: int = -1
    audit_percent: float = AUDIT_PERCENT
    recover: tuple[str, ...] = ()
    coverage: bool = True
    cpus: int = 1
    orders: int = 0
    block_ms: int = -1
    failing: bool = False
    stops: int = 0
    near: tuple[str, ...] = ()


class Worker(msgspec.Struct, frozen=True):
    """What a worker process is started with: all that is of its machine. What is to be done says its Plan."""

    run: str


def run(
    run_spec: RunSpec,
    out: Path,
    progress: Progress,
    resume: Path | None = None,
    more: Callable[[], bool] = lambda: True,
) -> tuple[Path, Summary]:
    """
    Build the kernels, do the experiments, judge, report.
    more: asked before each experiment is begun. What waits when it says no is not done: run.json names it.
    Errors: BadWorkload, kernel.kernel.KernelError, AgentError, NoFilesystemTool, NoGuest, NoRoom, OSError.
    """
    planned = planned_of(run_spec)
    for part in parts_of(run_spec):
        for workload in part.workloads:
            require_sectors(workload, part.profile)
    require_for_programs(run_spec)
    require_for_devices(run_spec)
    require_for_pages(run_spec)
    # Before a kernel is built, which takes minutes.
    require_room(resume or out, max(RESULTS_BYTES, planned * EXPERIMENT_BYTES))
    guest = prefer(run_spec.guest, parts_of(run_spec)[0].kernel, run_spec.config, progress)
    kernels = {
        (word, config): build_for(guest, word, config, progress) for word, config in builds_of(run_spec)
    }
    guest = accelerated(guest, next(iter(kernels.values())))
    agent = agent_binary()
    agent_binary(machine_of(guest))  # here, where it can be told that a compiler is missing
    if family(guest) == SSH:
        largest = max(part.profile.size_bytes for part in parts_of(run_spec))
        require_claims(guest, agent, largest, run_spec.log_bytes)
        first = plans_of(run_spec, kernels, guest, agent.name)[0].kernel_key
        boot_there(guest, first, progress.line)  # here, where it can be told
    started = time.monotonic()
    calls = calls_of(run_spec, kernels, guest, agent.name, resume, progress)
    plans = plans_of(run_spec, kernels, guest, agent.name, calls)
    question = msgspec.structs.replace(question_of(run_spec, kernels, guest), planned=len(plans))
    folder = resume or new_run(out, question)
    if calls and resume is None:
        keep_calls(folder, calls)
    with only_one(folder), told_how_to_go_on(folder, progress):
        if resume is not None:
            remove_partial(folder)
            require_same_question(folder, run_spec, plans)
        try:
            boots = do_experiments(plans, run_spec, folder, progress, more)
            keep_left(folder, plans)
        except WorkerFailed:
            with contextlib.suppress(OSError, NoResults):  # the disk may be full
                finish(folder, time.monotonic() - started, 0)
            raise
        recover_again(plans, run_spec, folder, progress)
        count_lines(run_spec, folder, progress)
        wall_s = time.monotonic() - started
        # A sweep and a comparison have the other kernel beside them.
        alone = not (run_spec.parts or run_spec.against)
        again = progress if alone and run_spec.repeats else None
        summary = finish(folder, wall_s, boots, again, progress if alone and run_spec.attribute else None)
        point_latest(folder)
    return folder, summary


def recover_again(plans: list[Plan], run_spec: RunSpec, folder: Path, progress: Progress) -> None:
    """recoveries.json; what is there already is not done again. Errors: as recoveries.again()."""
    done = {(one.experiment, one.way): one for one in read_recoveries(folder)}
    for way in run_spec.recover:
        for plan in plans:
            begun = (folder / "experiments" / f"{plan.number:04d}").exists()
            if (plan.number, way) in done or plan.kind != CRASH or not begun:
                continue
            progress.line(f"recovering the states of {plan.workload.name} on {plan.profile.name}: {way}")
            done[plan.number, way] = again(folder, plan, way, progress)
            write_whole(folder / "recoveries.json", msgspec.json.encode(tuple(done.values())))


def count_lines(run_spec: RunSpec, folder: Path, progress: Progress) -> None:
    """coverage.json: of a run on kernels that count, its own; else, where a kernel with series has a build
    that counts in the cache, that of the same workloads run on it once more. Trouble with it is told, and is
    no trouble of the run. Errors: OSError."""
    try:
        if VARIANT in run_spec.config:
            cover(folder, progress)
        elif not (folder / COVERAGE).exists() and (counting := counting_spec(run_spec)):
            progress.line(
                "the same workloads once more, on the build that counts which lines of the series run"
            )
            made, _ = run(counting, folder / COUNTED, progress)
            if (made / COVERAGE).exists():
                (made / COVERAGE).replace(folder / COVERAGE)
    except (KernelError, NoResults, NotCounted, WorkerFailed) as error:
        progress.line(f"coverage could not be worked out: {error}")
    finally:
        shutil.rmtree(folder / COUNTED, ignore_errors=True)


def counting_spec(run_spec: RunSpec) -> RunSpec | None:
    """The run that says which lines of a series ran: of its kernels with series, where they are built with
    counters. What is asked of the states does not change what runs while they are recovered."""
    alone = not (run_spec.parts or run_spec.against or run_spec.recover) and run_spec.coverage
    if not alone or family(run_spec.guest) != UML or run_spec.kind != CRASH:
        return None
    counting = msgspec.structs.replace(
        run_spec,
        kernels=tuple(word for word in run_spec.kernels if "+" in word),
        config=check_variants((*run_spec.config, VARIANT)),
        models=DEFAULT_MODELS,
        devices=(FAST,),
        with_fsck=False,
        repeats=False,
        attribute=False,
    )
    built = counting.kernels and all(find(*one) for one in builds_of(counting))
    return counting if built else None


@contextlib.contextmanager
def told_how_to_go_on(folder: Path, progress: Progress) -> Iterator[None]:
    """Stopped by Ctrl-C or SIGTERM, or by a full disk: what is done is kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, WorkerFailed, OSError):
        progress.line(f"continue with: powercut run --resume {shown(folder)}")
        raise


def require_same_question(folder: Path, run_spec: RunSpec, plans: list[Plan]) -> None:
    """The experiments of a run that goes on are those that it planned; a run of an older release that did not
    keep their number gets it now. Errors: NoResults."""
    with reading(folder):
        question = read_question(folder)
    names = tuple(workload.name for workload in run_spec.workloads)
    if question.left and question.planned + len(question.left) == len(plans):  # now they are wanted, too
        question = msgspec.structs.replace(question, planned=len(plans), left=())
        write_question(folder, question)
    if question.workloads != names or question.planned not in (NOT_KNOWN, len(plans)):
        raise NoResults(
            f"{folder}: the run planned {question.planned} experiments of "
            f"{len(question.workloads)} workloads, and the same command now means {len(plans)} of "
            f"{len(names)}. Start a new run"
        )
    if question.planned == NOT_KNOWN:
        write_question(folder, msgspec.structs.replace(question, planned=len(plans)))


def finish(
    folder: Path,
    wall_s: float,
    boots: int,
    again: Progress | None = None,
    by_fix: Progress | None = None,
) -> Summary:
    """Sum up and write the pages. by_fix: what no known bug claims is attributed first, and shown there.
    again: what is new after that is repeated."""
    summary = sum_up(folder, wall_s, boots)
    if by_fix is not None and summary.findings and (asked := unclaimed(folder)):
        write_summary(folder, summary)  # should the user have enough of waiting
        write_pages(folder)
        if attribute_new(folder, asked, by_fix):
            summary = sum_up(folder, wall_s, boots)
    if again is not None:
        summary = rerun_new(folder, summary, again)
    write_summary(folder, summary)
    write_pages(folder)
    return summary


def write_pages(folder: Path) -> None:
    """report/, junit.xml and results.ktap from what the folder holds."""
    texts = {oracle.NAME: (oracle.CHECKS, oracle.NOT_CHECKED) for oracle in EVERY_ORACLE}
    write_report(folder, texts, bug_texts=bug_texts())
    write_junit(folder)
    write_ktap(folder)


def require_room(folder: Path, needed_bytes: int, by: str = "with --out") -> None:
    """by: how another folder is named. Errors: NoRoom."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise NoRoom(f"{existing} cannot be written. Name another folder for results {by}")
    free = shutil.disk_usage(existing).free
    if free < needed_bytes:
        raise NoRoom(
            f"{existing} has only {free >> 20} MiB free, and {needed_bytes >> 20} MiB are needed "
            f"for results. Free some space, or name another folder {by}"
        )


def require_for_programs(run_spec: RunSpec) -> None:
    """The host's programs are in a guest by hostfs; and only a power failure is asked about them.
    Errors: BadSelection."""
    programs = [one.name for part in parts_of(run_spec) for one in part.workloads if one.program is not None]
    if programs and run_spec.guest != UML:
        raise BadSelection(
            f"{programs[0]} is a program, which needs a guest of User Mode Linux: it has the host's /usr. "
            "Leave --guest out"
        )
    if programs and run_spec.kind != CRASH:
        raise BadSelection(f"{programs[0]} is a program: leave --faults, --damage and --failing-blocks out")


def require_for_devices(run_spec: RunSpec) -> None:
    """Of a filesystem on several devices what was tried: crash models, in guests of this machine. Errors:
    BadSelection."""
    several = [part.profile.name for part in parts_of(run_spec) if part.profile.devices]
    if several and run_spec.kind != CRASH:
        raise BadSelection(
            f"{several[0]} has several devices: leave --faults, --damage and --failing-blocks out"
        )
    if several and family(run_spec.guest) == SSH:
        raise BadSelection(
            f"{several[0]} has several devices, and a machine reached by ssh has one. Leave --guest out"
        )


def require_for_pages(run_spec: RunSpec) -> None:
    """Of a guest with pages of 64 KiB, filesystems whose blocks may be smaller. Errors: BadSelection."""
    whole = [part.profile.name for part in parts_of(run_spec) if part.profile.filesystem == WHOLE_PAGES]
    if whole and run_spec.guest in AARCH64:
        raise BadSelection(
            f"{whole[0]}: blocks of f2fs must be as large as a page (sanity_check_raw_super() in "
            f"fs/f2fs/super.c). Pages of {run_spec.guest} have 64 KiB, and the blocks that mkfs makes here "
            "have 4 KiB. Leave it out, or use another guest"
        )


def require_sectors(workload: Workload, profile: Profile) -> None:
    """A sector that fails must be one of the device's. Errors: BadWorkload."""
    count = profile.size_bytes // SECTOR_BYTES
    for operation in workload.run:
        if operation.word == "fault" and operation.mode == "bad-sector" and operation.offset >= count:
            raise BadWorkload(
                workload.name,
                operation.line,
                1,
                f"the sectors of the device of {profile.name} are 0 to {count - 1}. Name one of them",
                words(operation),
            )


Kernels = dict[tuple[str, tuple[str, ...]], Kernel]  # by kernel spec and config variants
Calls = dict[tuple[str, str, str], tuple[Entered, ...]]  # by kernel spec, profile and workload
NO_CALLS: Calls = {}


WHOLE_PAGES = "f2fs"  # the filesystem that has no blocks smaller than a page
OF_FILESYSTEM = {"xfs-debug": "xfs"}  # config variants that change the code of one filesystem alone


def config_of(run_spec: RunSpec, profile: Profile, workload: Workload) -> tuple[str, ...]:
    """The variants asked for, and those that the two need; of the workload's not those for the code of
    another filesystem, which is not run here. Errors: BadKernel."""
    wanted = [
        each for each in workload.config if OF_FILESYSTEM.get(each, profile.filesystem) == profile.filesystem
    ]
    return check_variants((*run_spec.config, *profile.config, *wanted))


def config_for(run_spec: RunSpec, part: Part, workload: Workload) -> tuple[str, ...]:
    """The same, with what several processors, and calls that stop, need. Errors: BadKernel."""
    several = (SMP,) if cpus_of(run_spec, part) > 1 else ()
    stopping = (STOPS,) if stops_of(run_spec, part, workload) else ()
    return check_variants((*config_of(run_spec, part.profile, workload), *several, *stopping))


def cpus_of(run_spec: RunSpec, part: Part) -> int:
    """Processors of the guest that records."""
    return max(run_spec.cpus, 2 if part.orders else 1)


def parts_of(run_spec: RunSpec) -> tuple[Part, ...]:
    return run_spec.parts or tuple(
        Part(word, profile, run_spec.workloads, device=device)
        for word in run_spec.kernels
        for profile in run_spec.profiles
        for device in run_spec.devices
    )


def builds_of(run_spec: RunSpec) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each kernel and config variants that an experiment needs, once."""
    return tuple(
        dict.fromkeys(
            (part.kernel, config_for(run_spec, part, workload))
            for part in parts_of(run_spec)
            for workload in part.workloads
        )
    )


def on_profile(workload: Workload, profile: Profile) -> Workload:
    """The workload, its setup after the profile's own; which is there already in one that a run left."""
    if workload.program is not None:
        return workload
    first = parse(f"setup\n{indent(profile.setup, '  ')}\nrun\n  sync\n").setup if profile.setup else ()
    if [words(each) for each in workload.setup[: len(first)]] == [words(each) for each in first]:
        return workload
    return msgspec.structs.replace(workload, setup=(*first, *workload.setup))


def device_of(run_spec: RunSpec, kind: str, workload: Workload, order: int = 0) -> Device:
    """Each workload with delays of its own: filesystems put what they write first at the same places. Threads
    that are delayed meet in one way where each write of a block is long, and in another where none is. What
    is done while a call has stopped has to end."""
    if kind == FAST:
        taken = STOPPED_MS if workload.stops else BLOCKS_MS
        drawn = taken[order % len(taken)] if workload.parallel else BLOCK_MS
        return Device(block_ms=run_spec.block_ms if run_spec.block_ms >= 0 else drawn)
    seed = run_spec.device_seed
    return Device(kind, seed if seed >= 0 else zlib.crc32(f"{run_spec.seed} {workload.name}".encode()))


def plans_of(
    run_spec: RunSpec, kernels: Kernels, guest: str = UML, agent: str = "", calls: Calls = NO_CALLS
) -> list[Plan]:
    """One plan for each kernel, profile and workload, in this order: the same RunSpec, the same numbers.
    agent: its hash. calls: of calls_of()."""
    recordings = COMPARED_RECORDINGS if run_spec.against else 1
    wanted = [
        (part, drawn, config_for(run_spec, part, workload), order)
        for part in parts_of(run_spec)
        for workload in part.workloads
        for order, drawn in enumerate(recorded_of(run_spec, part, workload, calls))
    ]
    return [
        Plan(
            number,
            part.kernel,
            kernels[part.kernel, config].provenance.key,
            agent,
            part.profile,
            on_profile(workload, part.profile),
            run_spec.tier,
            run_spec.with_fsck,
            config,
            recordings,
            guest,
            StatePlan(
                in_order((*run_spec.models, *part.models)),
                run_spec.budget,
                run_spec.seed,
                run_spec.atomic_bytes,
                run_spec.damages,
                run_spec.prefixes,
                run_spec.failing or part.failing,
            ),
            FAULTS if workload.faulty else part.kind or run_spec.kind,
            run_spec.log_bytes if workload.program is None else max(run_spec.log_bytes, PROGRAM_LOG_BYTES),
            device_of(run_spec, part.device, workload, order),
            run_spec.audit_percent,
            cpus=cpus_of(run_spec, part),
            order=order,
        )
        for number, (part, workload, config, order) in enumerate(wanted, 1)
    ]


def recorded_of(run_spec: RunSpec, part: Part, workload: Workload, calls: Calls) -> Iterator[Workload]:
    """As it is recorded, once for each recording: as it is written, with other delays, with a stop."""
    for order in range(orders_of(run_spec, part, workload)):
        yield delayed(workload, run_spec.seed, order)
    entered = calls.get((part.kernel, part.profile.name, workload.name), ())
    for number in range(1, 1 + stops_of(run_spec, part, workload) if entered else 1):
        yield stopped(workload, entered, run_spec.seed, number)


def orders_of(run_spec: RunSpec, part: Part, workload: Workload) -> int:
    """How many recordings of it there are, but for those with a stop."""
    return max(1, run_spec.orders, part.orders) if workload.parallel else 1


def stops_of(run_spec: RunSpec, part: Part, workload: Workload) -> int:
    """How many recordings of it have a stop that is drawn. With calls that overlap a long workload takes
    minutes to judge, for each order is a model of all of it."""
    drawn = workload.program is None and not (
        workload.faulty or workload.injects or workload.stops or workload.crashes
    )
    drawn = drawn and len(workload.setup) + len(workload.run) <= STOPPED_MAX
    return max(run_spec.stops, part.stops) if drawn else 0


def planned_of(run_spec: RunSpec) -> int:
    """How many experiments; with stops at most."""
    return sum(
        orders_of(run_spec, part, each) + stops_of(run_spec, part, each)
        for part in parts_of(run_spec)
        for each in part.workloads
    )


# --- which functions calls enter ------------------------------------------------------------------


class CallsOf(msgspec.Struct, frozen=True):
    """entered.json: of each workload, what its calls entered, by place in run."""

    kernel: str
    profile: str
    workload: str
    calls: tuple[Entered, ...]


def calls_of(
    run_spec: RunSpec, kernels: Kernels, guest: str, agent: str, resume: Path | None, progress: Progress
) -> Calls:
    """Of the workloads that are recorded with stops. Of a run that goes on, those that it had, so that the
    draws are the same. No calls, and so no recordings with stops, has a workload whose calls cannot be
    counted, which is told, and one that does not come near the functions in question. Errors: OSError,
    NoResults, BadSelection; as Workbench."""
    wanted = {
        (part.kernel, part.profile.name, workload.name)
        for part in parts_of(run_spec)
        for workload in part.workloads
        if stops_of(run_spec, part, workload)
    }
    if not wanted:
        return {}
    if resume is not None:
        with reading(resume):
            kept = msgspec.json.decode((resume / ENTERED).read_bytes(), type=tuple[CallsOf, ...])
        return {(one.kernel, one.profile, one.workload): one.calls for one in kept}
    stopping = [kernel for (_, config), kernel in kernels.items() if STOPS in config]
    require_near(run_spec.near, stopping)
    found: Calls = {}
    far: list[str] = []
    with workspace() as space, Workbench(Worker(""), space) as bench:
        for plan in plans_of(run_spec, kernels, guest, agent):  # of several of a name the first will do
            name = (plan.kernel, plan.profile.name, plan.workload.name)
            if name not in wanted or name in found:
                continue
            progress.starting(plan)
            near = near_of(run_spec.near, by_key(plan.guest, plan.kernel_key))
            found[name] = ()
            try:
                found[name] = bench.entered(plan, near)
            except UNRECORDED as error:
                progress.line(f"{plan.workload.name} on {plan.profile.name}: no stops are drawn: {error}")
            if near and found[name] and not comes_near(found[name]):
                found[name] = ()
                far.append(plan.workload.name)
    tell_near(run_spec.near, stopping, far, len(found), progress)
    return found


def keep_calls(folder: Path, calls: Calls) -> None:
    """Errors: OSError."""
    kept = [CallsOf(*name, entered) for name, entered in calls.items()]
    write_whole(folder / ENTERED, msgspec.json.encode(kept))


# --- workers -------------------------------------------------------------------------------------


def job_count(run_spec: RunSpec, plan_count: int) -> int:
    """Where nothing is asked, as many as have processors of their own."""
    if family(run_spec.guest) == SSH:
        return 1  # its disk has one recording at a time
    cpus = max((cpus_of(run_spec, part) for part in parts_of(run_spec)), default=1)
    return max(1, min(run_spec.jobs or len(processors()) // cpus, plan_count))


def require_same(plan: Plan, folder: Path) -> None:
    """What is done must be what would be done now. Errors: NoResults."""
    if plan.workload.program is not None:  # the steps that it made are there, and come again or not
        return
    if (folder / "workload").read_text() != format_workload(plan.workload):
        raise NoResults(
            f"{folder}: the workload {plan.workload.name} has changed since the run was started. "
            "Start a new run"
        )


def do_experiments(
    plans: list[Plan],
    run_spec: RunSpec,
    folder: Path,
    progress: Progress,
    more: Callable[[], bool] = lambda: True,
) -> int:
    """All that are not done yet; how many guests were booted for it."""
    done = {int(path.name): path for path in experiment_folders(folder)}
    for plan in plans:
        if plan.number in done:
            require_same(plan, done[plan.number])
    todo = [plan for plan in plans if plan.number not in done]
    jobs = job_count(run_spec, len(todo)) if todo else 0
    progress.experiments(len(todo), len(plans))
    boots = 0
    try:
        with Pool[Plan](work, [Worker(str(folder))] * jobs) as pool:
            for plan, said in pool.perform(todo, more):
                boots += heed(plan, said, folder, progress)
    except PoolFailed as error:
        raise WorkerFailed(str(error)) from error
    return boots


def keep_left(folder: Path, plans: list[Plan]) -> None:
    """The experiments that were not begun, as no more were wanted, are no part of the run: it is whole
    without them, and names them."""
    done = {int(path.name) for path in experiment_folders(folder)}
    left = [plan for plan in plans if plan.number not in done]
    if not left:
        return
    names = tuple(f"{plan.workload.name} on {plan.profile.name}, kernel {plan.kernel}" for plan in left)
    with reading(folder):
        question = read_question(folder)
    write_question(folder, msgspec.structs.replace(question, planned=len(plans) - len(left), left=names))


class WorkerFailed(Exception):
    """No worker can go on; the message holds why."""


def heed(plan: Plan, said: Said | Lost[Plan], folder: Path, progress: Progress) -> int:
    """Show what a worker said of its experiment, or keep that it died over it. How many guests it booted.
    Errors: OSError."""
    if isinstance(said, Lost):
        trouble = f"the worker was {said.how}, {TRIES} times during this experiment"
        progress.done(done_already(plan, folder) or not_done(plan, folder, trouble, ""))
    elif said.kind == "done":
        outcome, booted = said.content
        progress.done(outcome)
        return int(booted)
    elif isinstance(said.content, int):
        progress.states(said.content)
    else:
        progress.starting(plan)
    return 0


def done_already(plan: Plan, folder: Path) -> Outcome | None:
    """Of an experiment that is there whole: its worker died before it could say so. Errors: NoResults."""
    place = folder / "experiments" / f"{plan.number:04d}"
    if not place.exists():
        return None
    with reading(place):
        return Outcome(plan.number, read_experiment(place).facts.trouble)


def work(settings: Worker, line: Connection) -> None:
    """A worker process: experiments until there are no more."""
    begin_worker()
    try:
        with workspace() as space, Workbench(settings, space) as bench:
            while True:
                plan = line.recv()
                line.send(Said("said"))
                space.half_written(partial_folder(Path(settings.run), plan.number))
                before = bench.boots
                outcome = bench.do_or_tell(plan, lambda count: line.send(Said("said", count)))
                line.send(Said("done", (outcome, bench.boots - before)))
    except EOFError:  # whoever gave us experiments is gone
        return
    except (OSError, AuditFailed, BadHost, Unreachable) as error:
        with contextlib.suppress(OSError):
            line.send(Said("failed", f"{error}"))


def keep_disks(disks: Path | None, run: str, number: int) -> str:
    """Of an audit that failed, in the folder of the run; the words that say where. Errors: OSError."""
    if disks is None:
        return ""
    place = Path(run) / AUDIT_FAILED / f"{number:04d}"
    place.mkdir(parents=True, exist_ok=True)
    for one in disks.iterdir():
        (place / one.name).touch()
        copy_sparse(one, place / one.name)
    return f". Both disks are in {shown(place)}"


class Workbench:
    """A worker's place: one guest at a time, for one kernel and profile."""

    def __init__(self, settings: Worker, space: Workspace) -> None:
        self._settings = settings
        self._space = space
        self._stack = contextlib.ExitStack()
        self._for: tuple[object, ...] | None = None  # what decides which guest it is
        self._guest_slot: GuestSlot | None = None
        self._boots_before = 0

    @property
    def boots(self) -> int:
        return self._boots_before + (self._guest_slot.boots if self._guest_slot else 0)

    def __enter__(self) -> "Workbench":
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def do_or_tell(self, plan: Plan, tell: Any) -> Outcome:
        """What goes wrong by a mistake of ours is that experiment's trouble, and ends no other.
        Errors: OSError, AuditFailed; BadHost, Unreachable: the machine is of no use to the next ones."""
        try:
            return self.do(plan, tell)
        except (OSError, BadHost, Unreachable):
            raise
        except AuditFailed as failed:  # in other experiments, too, answers were proven
            told = f"{plan.workload.name} on {plan.profile.name}: {failed}"
            raise AuditFailed(told + keep_disks(failed.disks, self._settings.run, plan.number)) from failed
        except Exception as mistake:
            self._stack.close()
            self._for = None
            told = f"a bug of Powercut: {type(mistake).__name__}: {mistake}"
            return not_done(plan, Path(self._settings.run), told, traceback.format_exc())

    def do(self, plan: Plan, tell: Any) -> Outcome:
        guest_slot = self._guest_slot_for(plan)
        pristine = self._space.path / "pristine"
        run = Path(self._settings.run)
        if (done := done_already(plan, run)) is not None:
            return done
        counted = Counted(tell)

        def told(count: int) -> None:
            require_scratch(self._space.path)
            counted.add(count)

        outcome = run_experiment(plan, guest_slot, pristine, self._space.path, run, told)
        counted.flush()
        return outcome

    def entered(self, plan: Plan, near: tuple[str, ...]) -> tuple[Entered, ...]:
        """What each call of the plan's workload enters; of its own, without the profile's setup before it.
        near: of entered(). Errors: UNRECORDED."""
        guest_slot = self._guest_slot_for(plan)
        try:
            pristine = self._space.path / "pristine"
            return entered(guest_slot.guest(), plan.profile, plan.workload, pristine, near)
        except UNRECORDED:
            guest_slot.drop()
            raise

    def _guest_slot_for(self, plan: Plan) -> GuestSlot:
        wanted = (plan.kernel_key, plan.agent, plan.guest, plan.cpus, plan.log_bytes, plan.profile)
        if self._guest_slot is None or self._for != wanted:
            spec = guest_spec(plan)
            self._boots_before = self.boots
            self._stack.close()
            make_filesystem(plan.profile, self._space.path / "pristine")
            self._guest_slot = self._stack.enter_context(GuestSlot(spec, self._space))
            self._for = wanted
        return self._guest_slot


def require_scratch(folder: Path) -> None:
    """Where the files of its devices have no room a guest sees I/O errors: nothing it says then is believed.
    Errors: OSError."""
    if is_full(folder):
        raise OSError(
            errno.ENOSPC,
            "the scratch folder is full, so results of guests are not reliable. Use fewer --jobs",
            str(folder),
        )


class Counted:
    """Tells in lumps: a message for each state would cost more than judging it."""

    def __init__(self, tell: Any) -> None:
        self._tell = tell
        self._count = 0
        self._last = time.monotonic()

    def add(self, count: int) -> None:
        self._count += count
        if time.monotonic() - self._last > 0.2:
            self.flush()

    def flush(self) -> None:
        if self._count:
            self._tell(self._count)
        self._count = 0
        self._last = time.monotonic()


def guest_spec(plan: Plan) -> GuestSpec:
    """The plan's guest on this machine. Errors: BuildFailed, AgentError: what it names is not here."""
    return GuestSpec(
        kernel=kernel_path(by_key(plan.guest, plan.kernel_key)),
        agent=agent_of(plan.agent),
        device_bytes=plan.profile.size_bytes,
        log_bytes=plan.log_bytes,
        kind=plan.guest,
        cpus=plan.cpus,
    )


# --- the question --------------------------------------------------------------------------------


def question_of(run_spec: RunSpec, kernels: Kernels, guest: str = UML) -> Question:
    return Question(
        command=run_spec.command,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        powercut_commit=version.commit(),
        powercut_version=version.VERSION,
        seed=run_spec.seed,
        tier=run_spec.tier,
        models=in_order((*run_spec.models, *(model for part in run_spec.parts for model in part.models))),
        guest=guest,
        workloads=tuple(workload.name for workload in run_spec.workloads),
        kernels=provenances(kernels),
        profiles={profile.name: profile_facts(profile) for profile in run_spec.profiles},
        machine=machine_facts(),
        jobs=run_spec.jobs,
        against=run_spec.against,
        budget=run_spec.budget,
        planned=planned_of(run_spec),
        devices=tuple(dict.fromkeys(part.device for part in parts_of(run_spec))),
        recover=run_spec.recover,
        host=host_facts(guest),
        cpus=run_spec.cpus,
        orders=run_spec.orders,
        stops=run_spec.stops,
        near=run_spec.near,
    )


def host_facts(guest: str) -> dict[str, str]:
    """Errors: BadHost."""
    if family(guest) != SSH:
        return {}
    machine = host(host_of(guest))
    disk = claimed_disk(machine)
    return {
        "name": machine.name,
        "address": machine.address,
        "disk": disk.device,
        "serial": disk.serial,
        "size_bytes": str(disk.size_bytes),
    }


def provenances(kernels: Kernels) -> dict[str, Any]:
    """By kernel spec; when experiments needed several variants of one, the others are in it by name."""
    facts: dict[str, Any] = {}
    for (word, config), kernel in kernels.items():
        made = msgspec.to_builtins(kernel.provenance)
        if word in facts:
            facts[word].setdefault("other_variants", {})[",".join(config)] = made
        else:
            facts[word] = made
    return facts


def profile_facts(profile: Profile) -> dict[str, Any]:
    return {
        "mkfs": " ".join(profile.mkfs),
        "mount_options": profile.mount_options,
        "size_bytes": profile.size_bytes,
        "mkfs_version": tool_version(profile),
    }


def machine_facts() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor_name(),
        "processors": len(processors()),
        "memory_bytes": memory,
        "host_kernel": platform.release(),
    }


def _processor_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


__all__ = [
    "LOG_BYTES",
    "AgentError",
    "NoGuest",
    "NoRoom",
    "RunSpec",
    "WorkerFailed",
    "finish",
    "run",
    "write_pages",
]
