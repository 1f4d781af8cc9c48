"""
A finding as a program that needs none of this, tried before it is shown: `powercut export`.

In:       a run's folder, a finding of it, a form (sh, c, fstests).
Out:      the file, and what it did on the finding's kernel, where it must fail, and on the stock one, where
          it must pass. Nothing is kept that did not reproduce.
Not here: the text (reports/export*.py), what is asked (oracles/checks.py), the guest that it is tried in
          (bare.py).

Of the states that show the finding the earliest at the end of an operation comes first, by dm-flakey, as
fstests has it. Where there is none, or it does not reproduce (dm-flakey keeps what was never flushed), the
log is replayed up to that operation's end, and then to every entry within the earliest one. What R, T or N
alone shows is made from the log, and so is what a damaged disk shows: of the damages that do, some blocks'
first ones are tried. What a failing device shows is made to fail the same way.
"""

import argparse
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from harness import packages
from harness.bare import Ran, run_in_guest
from harness.block_names import OTHER
from harness.fault_points import with_sectors
from harness.filesystem import find_tool
from harness.followups import find, learnt
from harness.fstests import check_in, require_checkout, stand_ins
from harness.progress import Progress
from harness.run import write_pages
from harness.store import NoResults, write_whole
from harness.summing import EXIT_HOLDS, EXIT_UNKNOWN, shown
from harness.workspace import Workspace, workspace
from kernel.build import build
from kernel.word import source_word
from oracles import told
from oracles.case import Case, Prepared, prepare
from oracles.checks import Check, NoCheck, checks
from oracles.content import size_of
from oracles.damage import split
from oracles.damage_court import damage_case
from oracles.device_checks import of_damage, of_fault, promising
from oracles.faulted import fault_case
from oracles.finding import signature
from oracles.model import Model
from oracles.model import build as build_model
from oracles.observation import Observation
from oracles.profiles import Profile, profile
from oracles.spec import model_of, place_of
from oracles.verdict import Tier, Violation
from reports import export_c, export_fstests, export_sh
from reports.export import FORMS, NotInThisForm, Reproducer, Way
from reports.results import DAMAGE, FAULTS, Experiment, Finding, State
from workloads.faults import parse_point
from workloads.history import History
from workloads.workload import Operation

SUFFIX = {"sh": ".sh", "c": ".c", "fstests": ""}
DAMAGES_TRIED, POINTS_TRIED = 6, 4
RACES = 3
PANIC = "Kernel panic"
BROKEN, KEPT = 1, 0  # exit statuses of every form; of a test of fstests the output decides


class NoExport(Exception):
    """No program for this finding; the message says why, and what can be had instead."""


class NotInAnyWay(NoExport):
    """None was tried, for the form cannot say it."""


class Seen(msgspec.Struct, frozen=True):
    """How a program did on one kernel. shows: the promise was broken; None when it could not be tried."""

    kernel: str
    shows: bool | None
    said: str


def add_export(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="a run's folder, as results/latest")
    command.add_argument("finding", metavar="FINDING", nargs="?", default="", help="as F1 (the first)")
    command.add_argument("--to", choices=FORMS, required=True, help="shell, C, or a test of fstests")
    command.add_argument("--out", type=Path, metavar="FILE", help="(exports/ in the run's folder)")
    command.add_argument(
        "--fstests", type=Path, metavar="DIR", help="a built checkout: ./check runs the test in the guest"
    )
    command.add_argument("--quiet", action="store_true", help="no progress")


def command_export(arguments: argparse.Namespace) -> int:
    """Errors: NoResults, NoExport, KernelError, NoFilesystemTool, OSError."""
    finding, experiment = find(arguments.run, arguments.finding)
    if arguments.fstests and arguments.to != "fstests":
        raise NoExport(f"--fstests: only a test of fstests is run there: --to fstests, not {arguments.to}")
    if arguments.fstests:
        require_checkout(arguments.fstests)
    require_tools(arguments.to)
    with Progress(arguments.quiet) as progress:
        chosen, seen = verified(finding, experiment, arguments.to, arguments.fstests, arguments.run, progress)
    out = arguments.out or arguments.run / "exports" / default_name(chosen, finding, arguments.to)
    files = files_of(chosen, arguments.to, out.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_whole(out.parent / name, text.encode())
    out.chmod(0o755)
    place = str(out.relative_to(arguments.run)) if out.is_relative_to(arguments.run) else str(out.resolve())
    told = "; ".join(f"{one.kernel}: {'fails' if one.shows else 'passes'}" for one in seen)
    kept = (*(each for each in finding.after.exports if each[0] != place), (place, told))
    learnt(arguments.run, finding, msgspec.structs.replace(finding.after, exports=kept))
    write_pages(arguments.run)
    print(f"{shown(out)}: {finding.signature}")
    for one in seen:
        print(f"  on {one.kernel}: {'fails' if one.shows else 'passes'} ({one.said})")
    if len(seen) == 1:
        print(f"  {seen[0].kernel} is the stock kernel: where it must pass is yours to say")
    return EXIT_HOLDS if all(one.shows is not None for one in seen) else EXIT_UNKNOWN


def default_name(one: Reproducer, finding: Finding, form: str) -> str:
    """F1.sh, F1.c, tests/generic/901."""
    if form == "fstests":
        return f"tests/{export_fstests.folder(one)}/{900 + int(finding.id[1:])}"
    return finding.id + SUFFIX[form]


def require_tools(form: str) -> None:
    """Errors: NoFilesystemTool."""
    for needed in packages.EXPORT:
        find_tool(needed.shown_by, needed.package)
    if form == "c":
        find_tool("gcc", "gcc")


def verified(
    finding: Finding, experiment: Experiment, form: str, fstests: Path | None, run: Path, progress: Progress
) -> tuple[Reproducer, list[Seen]]:
    """The first of the ways that shows it here and not there. Errors: NoExport."""
    facts = experiment.facts
    own, stock = facts.kernel, source_word(facts.kernel)
    kernels = {
        word: Path(build(word, progress.building(word), facts.config).path)
        for word in dict.fromkeys((own, stock))
    }
    tried, unsaid = [], []
    for one in reproducers(finding, experiment, run):
        with workspace() as space:
            try:
                seen = [
                    tried_on(word, path, one, form, fstests, space, progress)
                    for word, path in kernels.items()
                ]
            except NotInThisForm as error:
                unsaid.append(str(error))
                continue
        if [each.shows for each in seen] == [True, False][: len(seen)]:
            return one, seen
        tried.append(f"{one.way}, {format_cut(one)}: " + "; ".join(f"{s.kernel}: {s.said}" for s in seen))
    disk = f"or {itself(finding)}"
    reasons = "; ".join(dict.fromkeys(unsaid))
    if not tried:
        raise NotInAnyWay(f"{finding.id} is not exported to {form}: {reasons}; {disk}")
    why = "\n  ".join([*tried, *([reasons] if reasons else [])])
    others = ", ".join(f"--to {other}" for other in FORMS if other != form)
    raise NoExport(
        f"{finding.id} is not exported to {form}: no program shows it on {own} and not elsewhere. Tried:\n"
        f"  {why}\nInstead: {others}; {disk}"
    )


def format_cut(one: Reproducer) -> str:
    return "at its end" if one.returned else "within it"


def tried_on(
    word: str,
    kernel: Path,
    one: Reproducer,
    form: str,
    fstests: Path | None,
    space: Workspace,
    progress: Progress,
) -> Seen:
    """Threads do not meet in the same way every time: up to RACES tries until they show it, and as many where
    they must not. Errors: NotInThisForm, OSError."""
    for _ in range(RACES if one.parallel else 1):
        seen = try_on(word, kernel, one, form, fstests, space, progress)
        if seen.shows:
            break
    return seen


def try_on(
    word: str,
    kernel: Path,
    one: Reproducer,
    form: str,
    fstests: Path | None,
    space: Workspace,
    progress: Progress,
) -> Seen:
    """Errors: NotInThisForm, OSError."""
    folder = space.path / "tried"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name = "999" if form == "fstests" else f"repro{SUFFIX[form]}"
    for file, text in files_of(one, form, name).items():
        (folder / file).write_text(text)
    progress.line(f"{form} by dm-{'log-writes' if one.way == 'log' else 'flakey'} on {word} ...")
    if form == "fstests":
        command = check_in(fstests, folder, one) if fstests else stand_ins(folder, one)
    elif form == "c":
        compile_in(folder, name)
        command = "./repro"
    else:
        command = f"sh {name}"
    return seen_of(word, run_in_guest(kernel, folder, command, space, fstests), one.asks("survives"))


def compile_in(folder: Path, name: str) -> None:
    """Errors: NoExport."""
    command = ["gcc", "-O1", "-Wall", "-pthread", "-o", "repro", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoExport(f"the program does not compile, which is our mistake:\n{done.stderr.strip()[-2000:]}")


def seen_of(word: str, ran: Ran, survives: bool = False) -> Seen:
    """survives: whether it asks that the kernel does; then a panic is an answer, and no trouble of ours."""
    said = [line for line in ran.lines if line.strip()]
    panic = next((line for line in said if PANIC in line), "")
    if survives and ran.status == -1 and panic:
        return Seen(word, True, panic.strip())
    if ran.status not in (BROKEN, KEPT):
        return Seen(word, None, f"status {ran.status}: {' / '.join(said[-4:])}")
    if ran.status == KEPT:
        return Seen(word, False, "the promise was kept")
    telling = [line.partition("BROKEN: ")[2] for line in said if "BROKEN: " in line]
    return Seen(word, True, telling[0].strip() if telling else said[-1].strip())


def files_of(one: Reproducer, form: str, name: str) -> dict[str, str]:
    """Errors: NotInThisForm."""
    if form == "sh":
        return {name: export_sh.script(one, name)}
    if form == "c":
        return {name: export_c.program(one, name)}
    return export_fstests.test(one, name)


# --- from the evidence -----------------------------------------------------------------------------


def reproducers(finding: Finding, experiment: Experiment, run: Path) -> Iterator[Reproducer]:
    """The ways to show it, the simplest first. Errors: NoExport."""
    history = experiment.history
    if history is None:
        raise NoResults(f"{run}: nothing was recorded: {experiment.facts.trouble}")
    prepared = prepare(history, profile(experiment.facts.profile), Tier(experiment.facts.tier))
    showing = list(states_showing(finding, experiment))
    if experiment.facts.kind == DAMAGE:
        yield from damaged(finding, experiment, prepared, showing, run)
        return
    if experiment.facts.kind == FAULTS:
        yield from failed(finding, experiment, showing, run)
        return
    reasons = set()
    ends = [each for each in showing if is_between(experiment, each[0])]
    ordered = model_of(showing[0][0].spec) == "O"
    candidates: list[tuple[Way, tuple[State, Violation]]] = []
    candidates += [("flakey", ends[0])] if ends and ordered else []
    candidates += [("log", ends[0])] if ends else []
    candidates += [("log", showing[0])] if showing[:1] != ends[:1] else []
    for way, (state, violation) in candidates:
        seen = experiment.observations[state.observation]
        case = prepared.case(place_of(state.spec), seen)
        beside = any(step.operation.parallel for step in history.run[: history.begun_count(case.prefix)])
        if beside and way == "flakey":
            continue  # where threads meet, the power fails within their calls
        try:
            if beside:
                asked = asked_in_orders(prepared, state, seen, finding.oracle, violation)
            else:
                asked = checks(case, finding.oracle, violation)
            yield reproducer(finding, experiment, case, state, violation, way, run, asked)
        except NoCheck as error:
            reasons.add(str(error))
    if reasons:
        raise not_asked(finding, reasons)


def not_asked(finding: Finding, reasons: set[str]) -> NoExport:
    return NoExport(
        f"{finding.id} is not exported: {'; '.join(sorted(reasons))}. Instead: another finding of the "
        f"same states, or {itself(finding)}"
    )


def itself(finding: Finding) -> str:
    """A point of a failing device has no disk that could be kept: it is a run."""
    if finding.state.startswith("F:"):
        return f"the run itself: {finding.repro}"
    return f"the disk itself: {finding.repro} --keep FILE"


def damaged(
    finding: Finding,
    experiment: Experiment,
    prepared: Prepared,
    showing: Sequence[tuple[State, Violation]],
    run: Path,
) -> Iterator[Reproducer]:
    """Errors: NoExport, when no damage can be asked about."""
    facts, reasons, some = experiment.facts, set(), 0
    for state, violation in first_damages(experiment, showing):
        outer, damage = split(state.spec)
        seen = experiment.observations[state.observation]
        whole = experiment.observations[facts.undamaged[outer]]
        name = next((each.name for each in facts.reads.get(outer, ()) if each.block == damage.block), OTHER)
        try:
            case = damage_case(prepared, state.spec, name, whole, (), seen)
            asked = of_damage(case, finding.oracle, violation)
            held = prepared.case(place_of(state.spec), whole)
            one = reproducer(finding, experiment, held, state, violation, "log", run, asked)
        except NoCheck as error:
            reasons.add(str(error))
            continue
        some += 1
        yield msgspec.structs.replace(one, damage=damage, block=name)
    if not some:
        raise not_asked(finding, reasons)


def failed(
    finding: Finding, experiment: Experiment, showing: Sequence[tuple[State, Violation]], run: Path
) -> Iterator[Reproducer]:
    """By a device that fails: the whole device before a part of it. Errors: NoExport."""
    history, facts = experiment.history, experiment.facts
    assert history is not None
    one, model = profile(facts.profile), build_model(history)
    reasons, some = set(), 0
    points = [(parse_point(state.spec, history.workload), state, violation) for state, violation in showing]
    for point, state, violation in sorted(points, key=lambda each: bool(each[0].part))[:POINTS_TRIED]:
        seen = experiment.observations[state.observation]
        try:
            asked, promises = asked_after(experiment, one, state, seen, finding, violation)
        except NoCheck as error:
            reasons.add(str(error))
            continue
        some += 1
        workload = history.workload
        yield Reproducer(
            title=finding.signature,
            about=about(finding, experiment, violation, run),
            expected=violation.expected,
            found=violation.found,
            filesystem=one.filesystem,
            mkfs=one.mkfs,
            mount_options=one.mount_options,
            fsck=one.fsck,
            size_bytes=one.size_bytes,
            setup=workload.setup,
            run=tuple(with_sectors(operation, facts.entries) for operation in workload.run),
            way="fault",
            returned=True,
            checks=asked,
            offsets={
                step.index: append_offset(model, step.index)
                for step in (*history.setup, *history.run)
                if step.operation.word == "append"
            },
            fault=point,
            promising=promises,
        )
    if not some:
        raise not_asked(finding, reasons)


def asked_after(
    experiment: Experiment,
    one: Profile,
    state: State,
    seen: Observation,
    finding: Finding,
    violation: Violation,
) -> tuple[tuple[Check, ...], tuple[int, ...]]:
    """The checks, and the calls that have to succeed for them. Of a kernel that died nothing else is known.
    Errors: NoCheck."""
    if seen.death:
        return (Check("survives"),), ()
    history = experiment.history
    assert history is not None
    case = fault_case(history, one, Tier(experiment.facts.tier), state.spec, seen)
    asked = of_fault(case, finding.oracle, violation)
    return asked, promising(case) if finding.oracle == told.NAME else ()


def first_damages(
    experiment: Experiment, showing: Sequence[tuple[State, Violation]]
) -> list[tuple[State, Violation]]:
    """Those of disks as they were at an operation's end come first, then one of each block."""
    seen: dict[tuple[bool, int], int] = {}
    ranked = []
    for at, (state, violation) in enumerate(showing):
        within = not is_between(experiment, state)
        _, damage = split(state.spec)
        again = seen[within, damage.block] = seen.get((within, damage.block), -1) + 1
        ranked.append((within, again, at, (state, violation)))
    return [each for *_, each in sorted(ranked, key=lambda one: one[:3])][:DAMAGES_TRIED]


def states_showing(finding: Finding, experiment: Experiment) -> Iterator[tuple[State, Violation]]:
    """In order, each with its violation: those of the finding's own state's model."""
    for state in experiment.judgement.states:
        if model_of(state.spec) != model_of(finding.state):
            continue
        for verdict in experiment.judgement.verdict_sets[state.verdict_set]:
            for violation in verdict.violations:
                if signature(experiment.facts.profile, verdict.oracle, violation) == finding.signature:
                    yield state, violation
                    break


def is_between(experiment: Experiment, state: State) -> bool:
    """At no operation's time, and after at least one."""
    history = experiment.history
    assert history is not None
    begun = history.begun_count(place_of(state.spec))
    return begun > 0 and begun == history.completed_count(place_of(state.spec))


def reproducer(
    finding: Finding,
    experiment: Experiment,
    case: Case,
    state: State,
    violation: Violation,
    way: Way,
    run: Path,
    asked: tuple[Check, ...],
) -> Reproducer:
    """Errors: NoCheck."""
    history, facts = case.history, experiment.facts
    begun, completed = history.begun_count(case.prefix), history.completed_count(case.prefix)
    if not begun:
        raise NoCheck("the power fails before the first operation")
    if state.spec.startswith("T:") and "-" in state.spec:
        raise NoCheck(f"{state.spec}: a program tears the last write that reached the disk, and no other")
    one = profile(facts.profile)
    steps = (*history.setup, *history.run[:begun])
    failed = [step for step in steps if step.result < 0]
    beside = any(step.operation.parallel for step in steps)
    if beside and model_of(state.spec) != "O":
        raise NoCheck(f"{state.spec}: of threads a program asks the prefixes of a log, and no other disks")
    if failed:
        raise NoCheck(f"operation {failed[0].index} failed while it was recorded: minimize leaves it out")
    return Reproducer(
        title=finding.signature,
        about=about(finding, experiment, violation, run),
        expected=violation.expected,
        found=violation.found,
        filesystem=one.filesystem,
        mkfs=one.mkfs,
        mount_options=one.mount_options,
        fsck=one.fsck,
        size_bytes=one.size_bytes,
        setup=history.workload.setup,
        run=until_all_have_ended(history, begun) if beside else history.workload.run[:begun],
        way=way,
        returned=begun == completed,
        checks=asked,
        offsets={
            step.index: append_offset(case.model, step.index)
            for step in steps
            if step.operation.word == "append"
        },
        model=model_of(state.spec),
        atomic_bytes=one.atomic_bytes,
        begun=with_marks(history, history.begun(case.prefix)) if beside else (),
        ended=with_marks(history, history.returned(case.prefix)) if beside else (),
    )


def until_all_have_ended(history: History, begun: int) -> tuple[Operation, ...]:
    """With threads the steps stand in the order in which they began. The workload up to the last of them, and
    with it all of its block."""
    last = max(step.index for step in history.run[:begun]) - len(history.setup)
    run = history.workload.run
    while last + 1 < len(run) and run[last].parallel and run[last + 1].parallel == run[last].parallel:
        last += 1
    return run[: last + 1]


def with_marks(history: History, indexes: Collection[int]) -> tuple[int, ...]:
    """In order, without `await`, which is no call."""
    words = {step.index: step.operation.word for step in history.run}
    return tuple(sorted(index for index in indexes if words[index] != "await"))


def asked_in_orders(
    prepared: Prepared, state: State, seen: Observation, oracle: str, violation: Violation
) -> tuple[Check, ...]:
    """Those that are the same whatever the order of the effects was: no program knows it. Errors: NoCheck."""
    assert prepared.orders is not None
    found: tuple[Check, ...] = ()
    number = 0
    while prepared.orders.get(number) is not None:
        asked = checks(prepared.case(place_of(state.spec), seen, number), oracle, violation)
        if number and asked != found:
            raise NoCheck("what may be there depends on the order of what ran beside each other")
        found, number = asked, number + 1
    return found


def about(finding: Finding, experiment: Experiment, violation: Violation, run: Path) -> tuple[str, ...]:
    facts = experiment.facts
    return (
        f"Promise, of tier {violation.tier}: {violation.promise}",
        f"Found by Powercut in {run.resolve().name} ({finding.id}, workload {facts.workload}), on kernel "
        f"{facts.kernel}, profile {facts.profile}.",
    )


def append_offset(model: Model, index: int) -> int:
    """The size of the file before it."""
    step = model.steps[index]
    for inode in model.ids(step.inode, "file", index + 1):
        timeline = model.content[inode]
        return size_of(timeline.at(index)) if model.inodes[inode].born <= index else 0
    return 0
