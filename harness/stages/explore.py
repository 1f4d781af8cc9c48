"""
Which states of a log are examined, in every crash model asked for.

In:       a log; models, budget and seed; the profile's atomic unit; a Recovery.
Out:      Recovered after Recovered; how many states were planned, and what share of all they are.
Not here: the states of each model (crash.py, reorder.py, tear.py, nested.py), judging them (judge.py).
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from harness.stages.recover import Recovered, Recovery
from harness.stages.session import MOUNTED
from harness.states.crash import DEFAULT_MODELS, states
from harness.states.log import SECTOR_BYTES, Log
from harness.states.members import Members
from harness.states.nested import FOLDER, Nesting, Recoveries
from harness.states.reorder import Reordering
from harness.states.spread import even
from harness.states.spread_prefixes import Prefixes
from harness.states.tear import Tearing
from oracles.spec import Damage, State, model_of
from reports.results import Coverage

DEFAULT_BUDGET = 500
# Of a report on a state for which recovery wrote nothing: there is no log that could be cut.
UNTOUCHED = b'"untouched":true'


class StatePlan(msgspec.Struct, frozen=True):
    """What is asked. budget: states of an experiment for each model but O. prefixes: of model O, how many
    disks of a log, 0 for all. seed: of what is drawn. atomic_bytes: what a device does not tear, 0 for what
    the profile says. damages: at rest, done beside those that are drawn, in every state whose mount reads
    their block. failing: blocks fail while the states are recovered, in place of damage at rest
    (failing_blocks.py)."""

    models: tuple[str, ...] = DEFAULT_MODELS
    budget: int = DEFAULT_BUDGET
    seed: int = 0
    atomic_bytes: int = 0
    damages: tuple[Damage, ...] = ()
    prefixes: int = 0
    failing: bool = False


def may_write(report: bytes) -> bool:
    """Whether recovery succeeded, and is not known to have written nothing."""
    return report.startswith(MOUNTED) and UNTOUCHED not in report


class Explorer:
    """recovered() of one log; planned and coverage are whole when it has ended. enough: asked before each
    state of model O; True ends them. redundant: of the profile. checked: as Members has it."""

    def __init__(
        self,
        state_plan: StatePlan,
        atomic_bytes: int,
        log: Log,
        scratch: Path,
        enough: Callable[[], bool] = lambda: False,
        redundant: bool = False,
        checked: bool = True,
    ) -> None:
        self.planned: dict[str, int] = {}
        self._coverage: list[Coverage] = []
        self._state_plan = state_plan
        self._atomic_bytes = state_plan.atomic_bytes or atomic_bytes
        self._log = log
        self._enough = enough
        self._redundant = redundant
        self._checked = checked
        self.recoveries = scratch / FOLDER
        # By the state that was recovered for it the last prefix with that disk: to it most was promised.
        self._outer: dict[str, State] = {}

    @property
    def coverage(self) -> tuple[Coverage, ...]:
        return tuple(self._coverage)

    def recovered(self, recovery: Recovery, base: Path) -> Iterator[Recovered]:
        """Model after model. Errors: as Recovery.run()."""
        for one in recovery.run(base, self._log, self._states()):
            if model_of(one.spec) == "O" and may_write(one.observation):
                self._outer[one.same_as or one.spec] = State(one.prefix)
            yield one
        if "N" in self._state_plan.models:
            yield from self._nested(recovery, base)
        if "A" in self._state_plan.models:
            yield from self._afterwards(recovery, base)

    def _states(self) -> Iterator[State]:
        found: list[Iterator[State]] = []
        budget, seed = self._state_plan.budget, self._state_plan.seed
        if "O" in self._state_plan.models:
            found.append(itertools.takewhile(lambda _: not self._enough(), self._ordered()))
        if "R" in self._state_plan.models:
            reordering = Reordering(self._log, budget, seed)
            self.planned["R"] = reordering.count
            self._coverage.append(reordering.coverage)
            found.append(reordering.states())
        if "T" in self._state_plan.models:
            tearing = Tearing(self._log, self._atomic_bytes // SECTOR_BYTES, budget)
            self.planned["T"] = tearing.count
            self._coverage.append(tearing.coverage)
            found.append(tearing.states())
        if "M" in self._state_plan.models:
            members = Members(self._log, self._log.devices, self._redundant, budget, self._checked)
            self.planned["M"] = members.count
            self._coverage.append(members.coverage)
            found.append(members.states())
        return itertools.chain.from_iterable(found)

    def _ordered(self) -> Iterator[State]:
        if not self._state_plan.prefixes:
            self.planned["O"] = len(self._log) + 1
            return states(len(self._log))
        some = Prefixes(self._log, self._state_plan.prefixes)
        self.planned["O"] = len(some.states)
        self._coverage.append(some.coverage)
        return iter(some.states)

    def _nested(self, recovery: Recovery, base: Path) -> Iterator[Recovered]:
        recoveries = Recoveries(self.recoveries)
        for _ in recovery.record(base, self._log, self._chosen(), recoveries):
            pass
        nesting = Nesting(recoveries, self._state_plan.budget)
        self.planned["N"] = nesting.count
        self._coverage.append(nesting.coverage)
        yield from recovery.go_on(base, self._log, nesting.states(), self.recoveries)

    def _afterwards(self, recovery: Recovery, base: Path) -> Iterator[Recovered]:
        recoveries = Recoveries(self.recoveries, again=True)
        chosen = self._chosen()
        yield from recovery.record(base, self._log, chosen, recoveries)
        nesting = Nesting(recoveries, self._state_plan.budget)
        self.planned["A"] = len(chosen) + nesting.count
        self._coverage.append(nesting.coverage)
        yield from recovery.go_on(base, self._log, nesting.states(), self.recoveries)

    def _chosen(self) -> list[State]:
        """The states that are recovered to go on from there."""
        outer = sorted(self._outer.values(), key=lambda state: state.prefix)
        if "O" not in self._state_plan.models:
            outer = list(states(len(self._log)))
        return [outer[number] for number in even(len(outer), self._state_plan.budget)]
