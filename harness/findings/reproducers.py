"""
From a finding's evidence the programs that may show it, the simplest first.

In:       a finding and its witness, with what was recorded and what came back.
Out:      Reproducer after Reproducer; NoExport when no program can ask for it.
Not here: what is asked (oracles/checks.py, device_checks.py), the programs' text (reports/export*.py), trying
          them on guests (export.py).

Of the states that show the finding the earliest at the end of an operation comes first, by dm-flakey, as
fstests has it. Where there is none, or it does not reproduce (dm-flakey keeps what was never flushed), the
log is replayed up to that operation's end, and then to every entry within the earliest one. What R, T or N
alone shows is made from the log, and so is what threads show, and what a damaged disk shows: of the damages
that do, some blocks' first ones. What a failing device shows is made to fail the same way.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from harness.evidence.triage import require_workload
from harness.stages.fault_points import with_sectors
from harness.states.block_names import OTHER
from oracles.case import Case, Prepared, prepare
from oracles.checks import Check, NoCheck, checks
from oracles.content import size_of
from oracles.faults import told
from oracles.faults.damage import split
from oracles.faults.device_checks import of_damage, of_fault, promising
from oracles.faults.faulted import fault_case
from oracles.finding import signature
from oracles.judge import damage_case
from oracles.model.model import Model
from oracles.model.steps import build as build_model
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.spec import is_live, model_of, operation_of, place_of
from oracles.verdict import Tier, Violation
from reports.programs.export import Reproducer, Way
from reports.results import DAMAGE, FAULTS, Experiment, Finding, JudgedState
from reports.text.device import device_words
from workloads.faults import parse_point
from workloads.history import History
from workloads.threads import DELAYING
from workloads.workload import Operation

DAMAGES_TRIED, POINTS_TRIED = 6, 4
SYNC = Operation("sync")


class NoExport(Exception):
    """No program for this finding; the message says why, and what can be had instead."""


class NotInAnyWay(NoExport):
    """None was tried, for the form cannot say it."""


Showing = Sequence[tuple[JudgedState, Violation]]


def reproducers(finding: Finding, experiment: Experiment, run: Path) -> Iterator[Reproducer]:
    """Errors: NoExport, NoResults."""
    require_workload(run, experiment)
    if experiment.history is not None and experiment.history.workload.program is not None:
        raise NoExport(
            f"{finding.id} was shown by a program, and only a workload in words can be exported. "
            f"The program itself shows it, and so does {itself(finding)}"
        )
    one = profile(experiment.facts.profile)
    if one.overlay:
        raise NoExport(
            f"{finding.id} was shown with overlayfs above {one.filesystem}, and no exported program mounts "
            f"one. Use {itself(finding)}"
        )
    if one.devices:
        raise NoExport(
            f"{finding.id} was shown on several devices, and no exported program has more than one. "
            f"Use {itself(finding)}"
        )
    if one.log_left:
        raise NoExport(
            f"{finding.id} was shown where the log of {one.filesystem} comes to its end, and no exported "
            f"program makes such a log. Use {itself(finding)}"
        )
    if model_of(finding.state) == "A":
        raise NoExport(
            f"{finding.id} needs a recovered filesystem that is used before the power fails again, and an "
            f"exported program ends with the first recovery. Use {itself(finding)}"
        )
    kind = {FAULTS: failed, DAMAGE: damaged}.get(experiment.facts.kind, crashed)
    if is_live(finding.state):
        kind = died
    reasons, some = set[str](), False
    for made in kind(finding, experiment, list(states_showing(finding, experiment)), run):
        if isinstance(made, NoCheck):
            reasons.add(str(made))
        else:
            some = True
            yield made
    if reasons and not some:
        raise NoExport(
            f"{finding.id} cannot be exported: {'; '.join(sorted(reasons))}. Try another finding "
            f"of the same states, or use {itself(finding)}"
        )


def itself(finding: Finding) -> str:
    """A point of a failing device has no disk that could be kept: it is a run; and so is a recording."""
    if finding.state.startswith("F:") or is_live(finding.state):
        return f"the run itself: {finding.repro}"
    return f"the disk itself: {finding.repro} --keep FILE"


def states_showing(finding: Finding, experiment: Experiment) -> Iterator[tuple[JudgedState, Violation]]:
    """In order, each with its violation: those of the finding's own state's model."""
    for state in experiment.judgement.states:
        if model_of(state.spec) != model_of(finding.state):
            continue
        for verdict in experiment.judgement.verdict_sets[state.verdict_set]:
            for violation in verdict.violations:
                if signature(experiment.facts.profile, verdict.oracle, violation) == finding.signature:
                    yield state, violation
                    break


# --- a power failure alone


def crashed(
    finding: Finding, experiment: Experiment, showing: Showing, run: Path
) -> Iterator[Reproducer | NoCheck]:
    history, facts = experiment.history, experiment.facts
    assert history is not None
    prepared = prepare(history, profile(facts.profile), Tier(facts.tier))
    ends = [each for each in showing if is_between(experiment, each[0])]
    ordered = model_of(showing[0][0].spec) == "O"
    candidates: list[tuple[Way, tuple[JudgedState, Violation]]] = []
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
            yield of_log(finding, experiment, case, state, violation, way, run, asked)
        except NoCheck as error:
            yield error


def is_between(experiment: Experiment, state: JudgedState) -> bool:
    """At no operation's time, and after at least one."""
    history = experiment.history
    assert history is not None
    begun = history.begun_count(place_of(state.spec))
    return begun > 0 and begun == history.completed_count(place_of(state.spec))


def of_log(
    finding: Finding,
    experiment: Experiment,
    case: Case,
    state: JudgedState,
    violation: Violation,
    way: Way,
    run: Path,
    asked: tuple[Check, ...],
) -> Reproducer:
    """Errors: NoCheck."""
    history = case.history
    begun, completed = history.begun_count(case.prefix), history.completed_count(case.prefix)
    if not begun and not (history.setup and state.spec.startswith("D:")):
        raise NoCheck("the power failure is before the first operation")
    if state.spec.startswith("T:") and "-" in state.spec:
        raise NoCheck(f"{state.spec}: an exported program can tear only the last write that reached the disk")
    steps = (*history.setup, *history.run[:begun])
    failed = [step for step in steps if step.result < 0]
    beside = any(step.operation.parallel for step in steps)
    if beside and model_of(state.spec) != "O":
        raise NoCheck(f"{state.spec}: with threads an exported program can check only the prefixes of a log")
    if failed:
        raise NoCheck(
            f"operation {failed[0].index} failed while it was recorded. powercut minimize removes it"
        )
    made = whole(finding, experiment, violation, run, way, asked, case.model)
    return msgspec.structs.replace(
        made,
        # Of a damaged disk nothing has to be run: then the power fails when a sync begins behind setup.
        run=spelled(
            until_all_have_ended(history, begun) if beside else history.workload.run[:begun] or (SYNC,),
            len(history.setup),
            case.model,
        ),
        returned=begun == completed,
        model=model_of(state.spec),
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
    """In order, without `await` and `stop`, which are no calls."""
    words = {step.index: step.operation.word for step in history.run}
    return tuple(sorted(index for index in indexes if words[index] not in DELAYING))


def asked_in_orders(
    prepared: Prepared, state: JudgedState, seen: Observation, oracle: str, violation: Violation
) -> tuple[Check, ...]:
    """Those that are the same whatever the order of the effects was: no program knows it. Errors: NoCheck."""
    assert prepared.orders is not None
    found: tuple[Check, ...] = ()
    number = 0
    while prepared.orders.get(number) is not None:
        asked = checks(prepared.case(place_of(state.spec), seen, number), oracle, violation)
        if number and asked != found:
            raise NoCheck("the allowed result depends on the order of the parallel operations")
        found, number = asked, number + 1
    return found


# --- damage at rest


def damaged(
    finding: Finding, experiment: Experiment, showing: Showing, run: Path
) -> Iterator[Reproducer | NoCheck]:
    history, facts = experiment.history, experiment.facts
    assert history is not None
    prepared = prepare(history, profile(facts.profile), Tier(facts.tier))
    for state, violation in first_damages(experiment, showing):
        outer, damage = split(state.spec)
        undamaged = experiment.observations[facts.undamaged[outer]]
        name = next((each.name for each in facts.reads.get(outer, ()) if each.block == damage.block), OTHER)
        try:
            seen = experiment.observations[state.observation]
            case = damage_case(prepared, state.spec, name, undamaged, (), seen)
            asked = of_damage(case, finding.oracle, violation)
            held = prepared.case(place_of(state.spec), undamaged)
            made = of_log(finding, experiment, held, state, violation, "log", run, asked)
            prefix = place_of(state.spec)
            # Before anything was run: a sync that ended would have brought more to the disk.
            ended = history.begun_count(prefix) > 0 and is_written(history, prefix)
            yield msgspec.structs.replace(made, damage=damage, block=name, returned=ended)
        except NoCheck as error:
            yield error


def is_written(history: History, prefix: int) -> bool:
    """At no operation's time, or with all that one wrote: only the mark of its end is not there."""
    begun = history.begun_count(prefix)
    return not begun or history.run[begun - 1].end_entry <= prefix


def first_damages(experiment: Experiment, showing: Showing) -> list[tuple[JudgedState, Violation]]:
    """Those of disks as they were at an operation's end come first, then one of each block."""
    assert experiment.history is not None
    seen: dict[tuple[bool, int], int] = {}
    ranked = []
    for at, (state, violation) in enumerate(showing):
        within = not is_written(experiment.history, place_of(state.spec))
        _, damage = split(state.spec)
        again = seen[within, damage.block] = seen.get((within, damage.block), -1) + 1
        ranked.append((within, again, at, (state, violation)))
    return [each for *_, each in sorted(ranked, key=lambda one: one[:3])][:DAMAGES_TRIED]


# --- a device that fails


def failed(
    finding: Finding, experiment: Experiment, showing: Showing, run: Path
) -> Iterator[Reproducer | NoCheck]:
    """The whole device before a part of it."""
    history, facts = experiment.history, experiment.facts
    assert history is not None
    points = [(parse_point(state.spec, history.workload), state, violation) for state, violation in showing]
    for point, state, violation in sorted(points, key=lambda each: bool(each[0].part))[:POINTS_TRIED]:
        try:
            asked, promises = asked_after(experiment, state, finding, violation)
        except NoCheck as error:
            yield error
            continue
        made = whole(finding, experiment, violation, run, "fault", asked, build_model(history))
        operations = tuple(with_sectors(operation, facts.entries) for operation in made.run)
        yield msgspec.structs.replace(made, run=operations, fault=point, promising=promises)


def asked_after(
    experiment: Experiment, state: JudgedState, finding: Finding, violation: Violation
) -> tuple[tuple[Check, ...], tuple[int, ...]]:
    """The checks, and the calls that have to succeed for them. Of a kernel that died nothing else is known.
    Errors: NoCheck."""
    seen = experiment.observations[state.observation]
    if seen.death:
        return (Check("survives"),), ()
    history, facts = experiment.history, experiment.facts
    assert history is not None
    case = fault_case(history, profile(facts.profile), Tier(facts.tier), state.spec, seen)
    asked = of_fault(case, finding.oracle, violation)
    return asked, promising(case) if finding.oracle == told.NAME else ()


# --- a kernel that dies, or complains, while it records


def died(
    finding: Finding, experiment: Experiment, showing: Showing, run: Path
) -> Iterator[Reproducer | NoCheck]:
    """The program is the workload up to the operation that was under way, and shows it when the kernel dies
    or its log has the report. The whole workload where that alone does not."""
    assert experiment.history is not None
    workload = experiment.history.workload
    if workload.parallel:
        yield NoCheck("threads meet by chance, and a program whose kernel dies cannot be repeated")
        return
    for state, violation in showing:
        made = whole(finding, experiment, violation, run, "plain", (Check("survives"),), None)
        count = operation_of(state.spec) + 1 - len(workload.setup)
        if 0 < count < len(workload.run):
            yield msgspec.structs.replace(made, run=workload.run[:count])
        yield made


def plain_offsets(history: History) -> dict[int, int]:
    """Where each append begins, by the sizes that the calls before it give a path. The agent died with what
    is needed for better; a program is tried before it is kept."""
    sizes: dict[str, int] = {}
    found: dict[int, int] = {}
    for index, operation in enumerate((*history.workload.setup, *history.workload.run)):
        path = operation.path
        match operation.word:
            case "append":
                found[index] = sizes.get(path, 0)
                sizes[path] = found[index] + operation.length
            case "write" | "pwrite" | "mmapwrite":
                sizes[path] = max(sizes.get(path, 0), operation.offset + operation.length)
            case "truncate":
                sizes[path] = operation.length
            case "rename":
                sizes[operation.path2] = sizes.pop(path, 0)
            case "link":
                sizes[operation.path2] = sizes.get(path, 0)
            case "creat" | "unlink":
                sizes.pop(path, None)
    return found


# --- all of them


def whole(
    finding: Finding,
    experiment: Experiment,
    violation: Violation,
    run: Path,
    way: Way,
    asked: tuple[Check, ...],
    model: Model | None,
) -> Reproducer:
    """The whole workload, and then the power fails. model: None of a recording, that has none."""
    history, facts = experiment.history, experiment.facts
    assert history is not None
    one = profile(facts.profile)
    return Reproducer(
        title=finding.signature,
        about=(
            f"Promise, of tier {violation.tier}: {violation.promise}",
            f"Found by Powercut in {run.resolve().name} ({finding.id}, workload {facts.workload}), on kernel "
            f"{facts.kernel}, profile {facts.profile}{device_words(facts.recorded_on.kind)}.",
        ),
        expected=violation.expected,
        found=violation.found,
        filesystem=one.filesystem,
        mkfs=one.mkfs,
        mount_options=one.mount_options,
        fsck=one.fsck,
        size_bytes=one.size_bytes,
        setup=spelled(history.workload.setup, 0, model),
        run=spelled(history.workload.run, len(history.setup), model),
        way=way,
        returned=True,
        checks=asked,
        offsets=plain_offsets(history)
        if model is None
        else {
            step.index: append_offset(model, step.index)
            for step in (*history.setup, *history.run)
            if step.operation.word == "append"
        },
        atomic_bytes=one.atomic_bytes,
    )


def spelled(operations: Sequence[Operation], first: int, model: Model | None) -> tuple[Operation, ...]:
    """How much `fill` took, it takes again in one call: offset and length. first: the index of the first of
    them. model: None of a recording that the kernel did not survive, which has no model. Errors: NoCheck."""
    if model is None and any(operation.word == "fill" for operation in operations):
        raise NoCheck(
            "it is not known how much space fill took, because the kernel did not survive the recording"
        )
    return tuple(
        filled(operation, index, model) if model and operation.word == "fill" else operation
        for index, operation in enumerate(operations, first)
    )


def filled(operation: Operation, index: int, model: Model) -> Operation:
    start = append_offset(model, index)
    (inode,) = model.ids(model.steps[index].inode, "file", index + 1)[:1]
    end = size_of(model.content[inode].at(index + 1))
    if end <= start:
        raise NoCheck(f"operation {index}: fill freed more than it had reserved")
    return msgspec.structs.replace(operation, offset=start, length=end - start)


def append_offset(model: Model, index: int) -> int:
    """The size of the file before it."""
    step = model.steps[index]
    for inode in model.ids(step.inode, "file", index + 1):
        timeline = model.content[inode]
        return size_of(timeline.at(index)) if model.inodes[inode].born <= index else 0
    return 0
