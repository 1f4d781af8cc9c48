"""
Faults: a workload run at each point at which the device may fail, judged.

In:       a Setting, a Recording on a sound device and its log.
Out:      FaultSweep, an Examination; its states are fault points.
Not here: power failures (crash_states.py), the runs (stages/inject.py), the points (stages/fault_points.py).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.experiments.crash_states import is_loud
from harness.experiments.examination import Judged, Setting
from harness.stages.explore import StatePlan
from harness.stages.fault_points import points_of
from harness.stages.gcov import COUNT, since_count, told
from harness.stages.inject import Faulting
from harness.stages.judge import FaultJudge, Ledger, decode
from harness.stages.record import Recording
from harness.stages.session import walk_flags
from harness.states.log import Log
from oracles.faults.faulted import fault_triggered
from oracles.observation import Observation
from reports.coverage.results import FAULTS
from workloads.entries import EntrySummary
from workloads.faults import SCRIPT, FaultPoint
from workloads.workload import Workload


class FaultSweep:
    """only: points of this kind of fault, "" for all."""

    stage = "faults"
    recoveries: Path | None = None

    def __init__(
        self, setting: Setting, recording: Recording, log: Log, _: StatePlan, only: str = ""
    ) -> None:
        self._setting, self._history = setting, recording.history
        self._entries = [log.summary(index) for index in range(len(log))]
        self._judge = FaultJudge(recording.history, setting.profile, setting.tier)
        points, self._left_out = points_of(recording.history, self._entries)
        self._points = [point for point in points if only in ("", point.kind)]
        self._unmet = 0
        self._loud: list[str] = []

    @property
    def ledger(self) -> Ledger:
        return self._judge.ledger

    def judged(self) -> Iterator[Judged]:
        """Every point that something came past."""
        setting, workload = self._setting, self._history.workload
        flags = walk_flags(self._history)
        faulting = Faulting(setting.guest_slot, setting.profile, setting.pristine, flags)
        if setting.tally:
            setting.guest_slot.guest().ask(COUNT)
        for triggered in triggered_points(faulting, workload, self._points, self._entries):
            self._unmet += triggered is None
            if triggered is None:
                continue
            point, raw, seen = triggered
            lines = seen.fault.kernel_log if seen.fault else ()
            self._loud += [f"== {point.spec} ==", *(line for line in lines if is_loud(line))]
            yield Judged(point.spec, self._judge.add(point.spec, raw))
        if setting.tally:  # of a guest that died the counts went with it
            asked = since_count(setting.profile.filesystem)
            setting.tally.add(FAULTS, told(setting.guest_slot.guest(), asked))

    def seconds(self, elapsed_s: float) -> dict[str, float]:
        return {"faults": elapsed_s}

    def trouble(self) -> str:
        """What the kernel has no target or feature for, by name."""
        kinds = sorted({spec.partition("@")[0].removeprefix("F:") for spec in self._judge.refused})
        if not kinds:
            return ""
        named = ", ".join(f"`fault {kind}`" for kind in kinds if kind != SCRIPT)
        asked = named or "a fault line of the workload"
        return (
            f"kernel {self._setting.kernel} cannot do {asked}: its device mapper has no such "
            "target or feature (dm-flakey has error_reads, and leaves the caller's pages "
            "unchanged with corrupt_bio_byte, since v6.5)"
        )

    def facts(self) -> dict[str, Any]:
        return {"points_unmet": self._unmet, "points_left_out": self._left_out}

    def kernel_log(self) -> Sequence[str]:
        return self._loud


Triggered = tuple[FaultPoint, bytes, Observation]


def triggered_points(
    faulting: Faulting, workload: Workload, points: Sequence[FaultPoint], entries: Sequence[EntrySummary]
) -> Iterator[Triggered | None]:
    """For each of the points the run at it, as find_triggered() has it; none twice."""
    done: set[FaultPoint] = set()
    for wanted in points:
        met = find_triggered(faulting, workload, wanted, entries, done)
        if met is not None:
            done.add(met[0])
        yield met


def find_triggered(
    faulting: Faulting,
    workload: Workload,
    wanted: FaultPoint,
    entries: Sequence[EntrySummary],
    done: set[FaultPoint],
) -> Triggered | None:
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
        if (
            run is None
            or run.refused
            or run.mount_errno
            or fault_triggered(run, point)
            or is_kept(point, first)
        ):
            return point, raw, seen
        if "+" not in point.part:
            return None
    return None


def is_kept(point: FaultPoint, first: int) -> bool:
    """What is a run of its own though nothing came past: that of a script, and that in which no write of the
    whole run part reached the disk, so that a workload that wrote nothing is judged once."""
    return point.kind == SCRIPT or point == FaultPoint("drop-writes", first, stays=True)
