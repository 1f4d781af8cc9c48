"""
One experiment with faults: a workload recorded on a sound device, then run at each fault point, judged, kept.

In:       a Plan of kind FAULTS, a guest to use, where to keep the evidence.
Out:      the experiment's folder, as any other's; its states are fault points.
Not here: power failures (experiment.py), the runs (faulting.py), the points (fault_points.py).
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness.experiments.crash import (
    LOUD,
    UNRECORDED,
    Outcome,
    Plan,
    Tell,
    facts_of,
    keep_evidence,
    not_recorded,
)
from harness.guests.guest import GuestTrouble, Keeper, LostGuest
from harness.stages.fault_points import points_of
from harness.stages.inject import Faulting
from harness.stages.judge import FaultJudge, decode
from harness.stages.record import Recording, record
from harness.stages.recover import asks_of
from harness.states.log import open_log
from oracles.faults.faulted import met_fault
from oracles.observation import Observation
from reports.results import EntrySummary
from workloads.faults import SCRIPT, FaultPoint
from workloads.workload import Workload


class Swept(msgspec.Struct, frozen=True):
    """What a sweep came to. unmet: points that nothing came past."""

    unmet: int
    left_out: int
    trouble: str
    kernel_log: tuple[str, ...]


def run_fault_experiment(
    plan: Plan, keeper: Keeper, pristine: Path, scratch: Path, run: Path, tell: Tell
) -> Outcome:
    """As experiment.run_experiment."""
    started = time.monotonic()
    try:
        recording = record(keeper.guest(), plan.profile, plan.workload, pristine, plan.kernel)
    except UNRECORDED as error:
        return not_recorded(plan, keeper, run, error)
    recorded = time.monotonic()
    judge = FaultJudge(recording.history, plan.profile, plan.tier)
    with open_log(recording.log) as log:
        entries = [log.summary(index) for index in range(len(log))]
        facts = facts_of(plan, "", recording, log)
    swept = sweep(plan, keeper, pristine, recording, entries, judge, tell)
    seconds = {"record": recorded - started, "faults": time.monotonic() - recorded}
    facts = msgspec.structs.replace(
        facts,
        seconds={stage: round(value, 4) for stage, value in seconds.items()},
        trouble=swept.trouble,
        points_unmet=swept.unmet,
        points_left_out=swept.left_out,
    )
    return keep_evidence(run, plan, facts, recording, judge, judge.judgement(), swept.kernel_log)


def sweep(
    plan: Plan,
    keeper: Keeper,
    pristine: Path,
    recording: Recording,
    entries: Sequence[EntrySummary],
    judge: FaultJudge,
    tell: Tell,
) -> Swept:
    """Every point that something came past, judged."""
    points, left_out = points_of(recording.history, entries)
    unmet = 0
    loud: list[str] = []
    try:
        faulting = Faulting(keeper, plan.profile, pristine, asks_of(recording.history))
        for met in met_points(faulting, plan.workload, points, entries):
            unmet += met is None
            if met is None:
                continue
            point, raw, seen = met
            judge.add(point.spec, raw)
            lines = seen.fault.kernel_log if seen.fault else ()
            loud += [f"== {point.spec} ==", *(line for line in lines if int(line[0]) <= LOUD)]
            tell(1)
    except (GuestTrouble, LostGuest) as error:
        keeper.drop()
        return Swept(unmet, left_out, f"faults: {error}", tuple(loud))
    return Swept(unmet, left_out, refusal(plan, judge), tuple(loud))


Met = tuple[FaultPoint, bytes, Observation]


def met_points(
    faulting: Faulting, workload: Workload, points: Sequence[FaultPoint], entries: Sequence[EntrySummary]
) -> Iterator[Met | None]:
    """For each of the points the run at it, as find_met() has it; none twice."""
    done: set[FaultPoint] = set()
    for wanted in points:
        met = find_met(faulting, workload, wanted, entries, done)
        if met is not None:
            done.add(met[0])
        yield met


def find_met(
    faulting: Faulting,
    workload: Workload,
    wanted: FaultPoint,
    entries: Sequence[EntrySummary],
    done: set[FaultPoint],
) -> Met | None:
    """
    The run at this point, or at the same sectors during an earlier operation: a write is logged when a FLUSH
    follows it, and may have been made before the operation that the log shows it in. None when nothing came
    past, or when that point was done already.
    """
    first = len(workload.setup)
    for operation in range(wanted.operation, first - 1, -1):
        point = msgspec.structs.replace(wanted, operation=operation)
        if point in done:
            return None
        raw = faulting.run(workload, point, entries)
        seen = decode(raw)
        run = seen.fault
        if run is None or run.refused or run.mount_errno or met_fault(run, point) or is_kept(point, first):
            return point, raw, seen
        if "+" not in point.part:
            return None
    return None


def is_kept(point: FaultPoint, first: int) -> bool:
    """What is a run of its own though nothing came past: that of a script, and that in which no write of the
    whole run part reached the disk, so that a workload that wrote nothing is judged once."""
    return point.kind == SCRIPT or point == FaultPoint("drop-writes", first, stays=True)


def refusal(plan: Plan, judge: FaultJudge) -> str:
    """What the kernel has no target or feature for, by name."""
    kinds = sorted({spec.partition("@")[0].removeprefix("F:") for spec in judge.refused})
    if not kinds:
        return ""
    asked = ", ".join(f"`fault {kind}`" for kind in kinds if kind != SCRIPT) or "a fault line of the workload"
    return (
        f"kernel {plan.kernel} cannot do {asked}: device mapper has no such target or feature there "
        "(dm-flakey: error_reads and unharmed pages under corrupt_bio_byte since v6.5)"
    )
