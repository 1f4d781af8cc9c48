"""
A sweep of faults for a reader: each fault point as a row, and the run at one of them.

In:       an Experiment of kind FAULTS.
Out:      Row after Row; the words of a point; the workload's lines as they went there.
Not here: the markup (templates/fault.html), verdicts and trees (groups.py).
"""

from collections.abc import Mapping

import msgspec

from oracles.faults.contained import behaviour
from oracles.faults.faulted import own_history
from oracles.observation import FaultRun, Observation
from oracles.spec import is_live
from oracles.verdict import Answer, Verdict
from reports.results import Experiment, JudgedState
from reports.text.script import Line, errno_words, lines
from workloads.faults import FLUSH, SCRIPT, FaultPoint, parse_point
from workloads.history import History
from workloads.workload import Workload

KIND_WORDS = {
    "error-writes": "writes fail",
    "drop-writes": "writes are dropped, but reported as done",
    "corrupt": "a byte of each write is changed",
    "error-reads": "reads fail",
    "delay": "reads and writes take longer",
}


class Row(msgspec.Struct, frozen=True):
    """One fault point. words: what fails. failed: the calls that said so, each as "3 fsync A/foo: EIO".
    met: reads and writes that came past. after: how the filesystem was then, "" where nobody asked.
    answers: of each oracle asked."""

    spec: str
    anchor: str
    words: str
    when: str
    met: str
    failed: tuple[str, ...]
    after: str
    answers: dict[str, Answer]


def rows(
    experiment: Experiment, operations: Mapping[int, str], anchors: Mapping[str, str]
) -> tuple[Row, ...]:
    """anchors: by spec."""
    assert experiment.history is not None
    workload = experiment.history.workload
    return tuple(
        _row(
            state,
            experiment.observations[state.observation],
            experiment.judgement.verdict_sets[state.verdict_set],
            workload,
            operations,
            anchors[state.spec],
        )
        for state in experiment.judgement.states
        if not is_live(state.spec)
    )


def _row(
    state: JudgedState,
    seen: Observation,
    verdicts: tuple[Verdict, ...],
    workload: Workload,
    operations: Mapping[int, str],
    anchor: str,
) -> Row:
    point = parse_point(state.spec, workload)
    run = seen.fault or FaultRun()
    return Row(
        spec=state.spec,
        anchor=anchor,
        words=what_fails(point),
        when=when(point, operations),
        met=met_words(run, point),
        failed=tuple(
            f"{step.index} {operations.get(step.index, '')}: {errno_words(-step.result)}"
            for step in run.steps
            if step.result < 0
        ),
        after=after_words(seen),
        answers={verdict.oracle: verdict.answer for verdict in verdicts},
    )


def what_fails(point: FaultPoint) -> str:
    if point.kind == SCRIPT:
        return "as the fault lines of the workload say"
    if point.part == FLUSH:
        return "FLUSH fails"
    where = "" if not point.part else f" (sectors {point.part})"
    return KIND_WORDS[point.kind] + where


def when(point: FaultPoint, operations: Mapping[int, str]) -> str:
    where = f"{point.operation} {operations.get(point.operation, '')}".strip()
    return f"from {where} on" if point.stays else f"during {where}"


def point_words(spec: str, history: History, operations: Mapping[int, str]) -> str:
    """One line for a point."""
    point = parse_point(spec, history.workload)
    return f"{what_fails(point)}, {when(point, operations)}"


def met_words(run: FaultRun, point: FaultPoint) -> str:
    writes = sum(step.bad_writes for step in run.steps if step.index >= point.operation)
    reads = sum(step.bad_reads for step in run.steps if step.index >= point.operation)
    counts = ((writes, "write"), (reads, "read"))
    words = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count]
    return " and ".join(words) or "not counted"


def after_words(seen: Observation) -> str:
    if seen.death:
        return f"the kernel ended ({seen.death})"
    if seen.fault is None or seen.fault.after_call is None:
        return ""
    return behaviour(seen.fault)


def run_script(experiment: Experiment, spec: str) -> tuple[tuple[Line, ...], int]:
    """The workload's lines with what each call said at this point, and the number of the line above which the
    device began to fail."""
    history = experiment.history
    assert history is not None
    seen = next(
        experiment.observations[state.observation]
        for state in experiment.judgement.states
        if state.spec == spec
    )
    point = parse_point(spec, history.workload)
    script = lines(experiment.workload_text, _as_it_went(history, seen.fault))
    numbers = [line.number for line in script if line.step and line.step.index < point.operation]
    first = [line.number for line in script if line.text.partition("#")[0].strip() == "run"]
    return script, max([*numbers, *first], default=0)


def _as_it_went(history: History, run: FaultRun | None) -> History:
    if run is None:
        return history
    results = {step.index: step.result for step in run.steps}
    own = own_history(history, run)
    return msgspec.structs.replace(
        own,
        setup=tuple(msgspec.structs.replace(step, result=results[step.index]) for step in own.setup),
        run=tuple(msgspec.structs.replace(step, result=results[step.index]) for step in own.run),
    )
