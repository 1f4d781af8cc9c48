"""
Show one fault point again: run it, print what the calls said and what a sound device then showed.

In:       an experiment of kind FAULTS, one of its points, a guest.
Out:      text on standard output; the exit status.
Not here: states of a power failure (repro.py).
"""

import os
from pathlib import Path

from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot
from harness.stages.inject import Faulting
from harness.stages.judge import decode
from harness.stages.session import walk_flags
from oracles.judge import judge_fault
from oracles.observation import FaultRun, FaultStep, Observation
from oracles.profiles import profile
from oracles.spec import BadSpec
from oracles.verdict import Tier, Verdict
from reports.results import Experiment
from workloads.faults import FaultPoint, parse_point
from workloads.text import format_operation


def point_of(experiment: Experiment, spec: str) -> FaultPoint:
    """Errors: BadSpec."""
    assert experiment.history is not None
    try:
        return parse_point(spec, experiment.history.workload)
    except ValueError as error:
        raise BadSpec(str(error)) from error


def run_again(
    guest_slot: GuestSlot, experiment: Experiment, spec: str, scratch: Path
) -> tuple[Observation, tuple[Verdict, ...]]:
    """Errors: BadSpec, LostGuest, GuestTrouble, NoFilesystemTool, OSError."""
    point = point_of(experiment, spec)
    history, facts = experiment.history, experiment.facts
    assert history is not None
    one = profile(facts.profile)
    make_filesystem(one, scratch / "pristine")
    faulting = Faulting(guest_slot, one, scratch / "pristine", walk_flags(history))
    seen = decode(faulting.run(history.workload, point, facts.entries))
    return seen, judge_fault(history, one, Tier(facts.tier), spec, seen)


def run_lines(experiment: Experiment, spec: str, run: FaultRun | None) -> list[str]:
    """The workload with what each call said, and where the device failed."""
    assert experiment.history is not None
    workload = experiment.history.workload
    point = point_of(experiment, spec)
    seen = {step.index: step for step in run.steps} if run else {}
    lines = []
    for index, operation in enumerate((*workload.setup, *workload.run)):
        if index == len(workload.setup):
            lines.append("run")
        if index == point.operation and not workload.faulty:
            lines.append(f"  ---- {format_fault(point)} ----")
        step = seen.get(index)
        said = "" if step is None else "ok" if step.result >= 0 else os.strerror(-step.result)
        met = met_words(step) if step else ""
        lines.append(f"    {format_operation(operation):<40} {said}{met}".rstrip())
        if index == point.operation and not point.stays:
            lines.append("  ---- the device works again ----")
    return ["setup", *lines] if workload.setup else lines


def met_words(step: FaultStep) -> str:
    if not step.bad_writes and not step.bad_reads:
        return ""
    return f"; requests that the fault affected: writes {step.bad_writes}, reads {step.bad_reads}"


def format_fault(point: FaultPoint) -> str:
    where = {"": "the whole device", "flush": "only FLUSH"}.get(point.part, f"sectors {point.part}")
    return f"{point.kind}: {where}, {'from here on' if point.stays else 'for one operation'}"
