"""
How many orders the threads of parallel blocks took, where workloads were recorded more than once.

In:       experiments, as kept.
Out:      OrderCounts, one for each workload, profile, kernel and device that has several recordings.
Not here: which orders a history allows the calls to have had their effects in (oracles/orders.py), how the
          threads were delayed (workloads/delays.py).

An order is the sequence of the begins and ends of calls, as the marks in the log have it. A log is the
sequence of its entries: kind, place and length of each, and the marks between them; what is written differs
from recording to recording anyway, by times and generations.
"""

import hashlib
from collections.abc import Sequence

from reports.results import Experiment, OrderCounts
from workloads.entries import EntryFlag
from workloads.threads import DELAYING
from workloads.workload import Workload

Place = tuple[str, str, str, str]


class Orders:
    """Use add() of each experiment, then counts()."""

    def __init__(self) -> None:
        self._recordings: dict[Place, list[tuple[bytes, bytes]]] = {}

    def add(self, experiment: Experiment) -> None:
        facts, history = experiment.facts, experiment.history
        if history is None or history.workload.stops or not history.workload.parallel:
            return
        place = (facts.workload, facts.profile, facts.kernel, facts.recorded_on.kind)
        self._recordings.setdefault(place, []).append(_digests(experiment, history.workload))

    def counts(self) -> tuple[OrderCounts, ...]:
        return tuple(
            OrderCounts(*place, *(_grown(digests) for digests in zip(*recordings, strict=True)))
            for place, recordings in self._recordings.items()
            if len(recordings) > 1
        )


def _grown(digests: Sequence[bytes]) -> tuple[int, ...]:
    """How many different ones there are up to each."""
    seen: set[bytes] = set()
    counts = []
    for one in digests:
        seen.add(one)
        counts.append(len(seen))
    return tuple(counts)


def _digests(experiment: Experiment, workload: Workload) -> tuple[bytes, bytes]:
    """Of the order of the calls, and of the log. A call has the same name in each recording, whatever `await`
    or `stop` stands before it."""
    calls, log = hashlib.sha256(), hashlib.sha256()
    names = _names(workload)
    for entry in experiment.facts.entries:
        if not entry.flags & EntryFlag.MARK:
            log.update(f"{entry.flags} {entry.sector} {entry.sector_count}\n".encode())
            continue
        for mark in entry.mark.split(","):
            what, _, index = mark.rpartition("-")
            if index.isdecimal() and int(index) in names:
                said = f"{what} {names[int(index)]}\n".encode()
                calls.update(said)
                log.update(said)
    return calls.digest(), log.digest()


def _names(workload: Workload) -> dict[int, int]:
    """By index in the workload, as its marks have it, the place among the others than DELAYING."""
    operations = enumerate((*workload.setup, *workload.run))
    calls = (index for index, each in operations if each.word not in DELAYING)
    return {index: place for place, index in enumerate(calls)}
