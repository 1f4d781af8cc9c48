"""
What is kept of every experiment of a campaign: one row.

In:       an experiment as a run keeps it.
Out:      Row; Witnesses, which of the experiments are kept whole.
Not here: the files of the rows (table.py), doing experiments (batch.py).
"""

import time
from pathlib import Path

import msgspec

from harness.campaign.batches import Batch
from harness.evidence.store import reading
from harness.evidence.summary import Tally
from oracles.finding import group
from oracles.verdict import Answer
from reports.results import read_experiment

HOLDS, BROKEN, UNKNOWN, EQUAL = "holds", "broken", "unknown", "equal"
UNKNOWN_TIMES = 10  # as many UNKNOWN are kept whole as witnesses of a finding


class Shown(msgspec.Struct, frozen=True):
    """A finding that an experiment shows. state, place: of the first state; count: of the states."""

    signature: str
    state: str
    place: int
    count: int


class Row(msgspec.Struct, frozen=True):
    """One experiment; of a workload that an earlier one equals, only that.

    bounds:         of the workload, such as "ace:2".
    number:         of the workload in its bounds.
    kernel:         the kernel, as the file names it.
    profile:        the profile.
    workload:       its name.
    answer:         holds, broken, unknown, or equal: an earlier workload of the bounds is the same.
    experiment:     its number in the whole campaign; the folder of its evidence has this name.
    operations:     of the workload, its setup included.
    entries:        of the log.
    states:         planned ones.
    recovered:      states that were recovered and judged.
    identical:      states with the bytes of an earlier one.
    proven:         states that differ from an earlier one only where its recovery did not look.
    unknown:        states that could not be judged, or not all of them.
    judged_holds:   verdicts that are HOLDS.
    judged_broken:  verdicts that are BROKEN.
    judged_unknown: verdicts that are UNKNOWN.
    trouble:        why the experiment could not be done.
    found:          the findings that it shows: signature, first state, its place in the log, and how many
                    states show it.
    checked:        answers that the checker gave.
    unasked:        answers of the checker that were proven from earlier ones.
    record_s:       seconds of recording.
    recover_s:      seconds of recovery.
    judge_s:        seconds of judging.
    ended:          when the experiment ended, in seconds since 1970.
    worker:         who did it.
    """

    bounds: str
    number: int
    kernel: str
    profile: str
    workload: str
    answer: str
    experiment: int
    operations: int = 0
    entries: int = 0
    states: int = 0
    recovered: int = 0
    identical: int = 0
    proven: int = 0
    unknown: int = 0
    judged_holds: int = 0
    judged_broken: int = 0
    judged_unknown: int = 0
    trouble: str = ""
    found: tuple[Shown, ...] = ()
    checked: int = 0
    unasked: int = 0
    record_s: float = 0.0
    recover_s: float = 0.0
    judge_s: float = 0.0
    ended: float = 0.0
    worker: str = ""


def equal_row(batch: Batch, number: int, experiment: int) -> Row:
    return Row(batch.bounds, number, batch.kernel, batch.profile, "", EQUAL, experiment)


def row_of(batch: Batch, number: int, folder: Path, worker: str) -> Row:
    """Of a kept experiment. Errors: NoResults."""
    with reading(folder):
        experiment = read_experiment(folder)
    tally = Tally()
    tally.add(experiment)
    facts = experiment.facts
    counts = {answer: sum(each[answer] for each in tally.verdicts.values()) for answer in Answer}
    found = tuple(
        Shown(one.signature, one.witness.state, one.witness.place, one.count) for one in group(tally.judged)
    )
    unsure = bool(facts.trouble or tally.unknown or not tally.checked)
    workload = experiment.history.workload if experiment.history else None
    return Row(
        bounds=batch.bounds,
        number=number,
        kernel=batch.kernel,
        profile=batch.profile,
        workload=facts.workload,
        answer=BROKEN if found else UNKNOWN if unsure else HOLDS,
        experiment=facts.number,
        operations=len(workload.setup) + len(workload.run) if workload else 0,
        entries=tally.entries,
        states=tally.planned,
        recovered=tally.checked,
        identical=tally.identical,
        proven=tally.proven,
        unknown=tally.unknown,
        judged_holds=counts[Answer.HOLDS],
        judged_broken=counts[Answer.BROKEN],
        judged_unknown=counts[Answer.UNKNOWN],
        trouble=facts.trouble,
        found=found,
        checked=tally.checks["run"],
        unasked=tally.checks["proven"],
        record_s=tally.seconds["record"],
        recover_s=tally.seconds["recover"],
        judge_s=tally.seconds["judge"],
        ended=round(time.time(), 3),
        worker=worker,
    )


class Witnesses:
    """Of each finding on each kernel and profile, the experiments with the shortest workloads, so many; and
    of what is UNKNOWN some more. Whatever the order in which rows come, the same are chosen."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._best: dict[tuple[str, str, str], list[tuple[int, int]]] = {}

    def add(self, row: Row) -> None:
        for one in row.found:
            self._add((one.signature, row.kernel, row.profile), row, self._limit)
        if row.answer == UNKNOWN or row.unknown:
            self._add((UNKNOWN, row.kernel, row.profile), row, self._limit * UNKNOWN_TIMES)

    def _add(self, key: tuple[str, str, str], row: Row, limit: int) -> None:
        best = {*self._best.get(key, []), (row.operations, row.experiment)}
        self._best[key] = sorted(best)[:limit]

    def experiments(self) -> set[int]:
        """Their numbers."""
        return {experiment for best in self._best.values() for _, experiment in best}
