"""
Where calls stopped in the middle of the kernel.

In:       experiments, as kept.
Out:      StopCounts, one for each profile and kernel with recordings that have a `stop`.
Not here: which stops are drawn (workloads/stops.py), in which orders the calls then were (orders.py).
"""

from reports.results import Experiment, StopCounts
from workloads.workload import STOP_WORKERS


class Stops:
    """Use add() of each experiment, then counts()."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], list[tuple[str, bool, bool]]] = {}

    def add(self, experiment: Experiment) -> None:
        facts, history = experiment.facts, experiment.history
        if history is None or not history.workload.stops:
            return
        self._seen.setdefault((facts.profile, facts.kernel), []).extend(
            (step.operation.name, STOP_WORKERS in step.operation.mode, step.blocks > 0)
            for step in history.run
            if step.operation.word == "stop"
        )

    def counts(self) -> tuple[StopCounts, ...]:
        return tuple(
            StopCounts(
                *place,
                asked=len(seen),
                stopped=sum(did for _, _, did in seen),
                workers=sum(of_kernel and did for _, of_kernel, did in seen),
                functions=len({name.rpartition(":")[2] for name, _, did in seen if did}),
                near=sum(did and ":" in name for name, _, did in seen),
            )
            for place, seen in self._seen.items()
        )
