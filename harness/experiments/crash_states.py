"""
Crash states: every power failure of a recording, recovered and judged.

In:       a Setting, a Recording and its log, a StatePlan.
Out:      CrashStates, an Examination; its states are those of the crash models.
Not here: which states a model has (states/), recovery (stages/recover.py), other kinds of experiment
          (faults.py, damage.py).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.experiments.examination import Judged, Setting
from harness.stages.explore import Explorer, StatePlan
from harness.stages.judge import Judge, Ledger
from harness.stages.record import Recording
from harness.stages.recover import Recovered, Recovery
from harness.stages.session import WANT_DIRECTORY_TIMES, WANT_TIMES, walk_flags
from harness.states.log import Log
from harness.states.nested import Recoveries
from oracles.profiles import Profile, asked
from oracles.redundant import has_checksums
from oracles.spec import State
from oracles.verdict import Tier
from reports.results import Judgement
from workloads.history import History

LOUD = 5  # kernel log levels up to notice are worth keeping beside the record's own log


class CrashStates:
    """judge: one that has judged states of the same history already, as of another model.
    enough: asked before each state of model O; True ends them. Recovery looks some states ahead of its
    answers: those are recovered in vain."""

    stage = "recovering"

    def __init__(
        self,
        setting: Setting,
        recording: Recording,
        log: Log,
        state_plan: StatePlan,
        judge: Judge | None = None,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        self._recording, self._log = recording, log
        self._judge = judge or Judge(recording.history, setting.profile, setting.tier)
        self._scratch = setting.scratch
        self._recovery = Recovery(
            setting.guest_slot,
            setting.profile,
            setting.with_fsck,
            setting.scratch,
            walk_asks(recording.history, setting.profile, setting.tier),
            setting.audit,
            setting.tally.add_state if setting.tally else None,
            proving=setting.proving,
        )
        self._explorer = Explorer(
            state_plan,
            setting.profile.atomic_bytes,
            log,
            setting.scratch,
            enough,
            setting.profile.redundant,
            has_checksums(recording.history),
        )
        self._judging_s = 0.0

    @property
    def ledger(self) -> Ledger:
        return self._judge.ledger

    @property
    def recoveries(self) -> Path | None:
        return self._explorer.recoveries

    def judged(self) -> Iterator[Judged]:
        return self._judged(self._explorer.recovered(self._recovery, self._recording.base))

    def judged_alone(self, states: Iterable[State]) -> Iterator[Judged]:
        """Only these states; of nested ones the recoveries are in the scratch folder."""
        base, recoveries = self._recording.base, self._explorer.recoveries
        return self._judged(self._recovery.go_on(base, self._log, states, recoveries))

    def judged_use(self, state: State) -> Iterator[Judged]:
        """Of model A: what the filesystem was used for after its recovery (State.is_use)."""
        recoveries = Recoveries(self._scratch / "use", again=True)
        base = self._recording.base
        return self._judged(self._recovery.record(base, self._log, [state.outer], recoveries))

    def _judged(self, states: Iterator[Recovered]) -> Iterator[Judged]:
        for recovered in states:
            before = time.monotonic()
            verdicts = self._judge.add(recovered)
            self._judging_s += time.monotonic() - before
            yield Judged(recovered.spec, verdicts, recovered.same_as, recovered.proven_by)

    def seconds(self, elapsed_s: float) -> dict[str, float]:
        return {"judge": self._judging_s, "recover": elapsed_s - self._judging_s}

    def trouble(self) -> str:
        return ""

    def facts(self) -> dict[str, Any]:
        return {
            "planned": self._explorer.planned,
            "coverage": self._explorer.coverage,
            "checks": dict(self._recovery.checks.counts),
            "proofs": dict(self._recovery.proofs.counts),
        }

    def kernel_log(self) -> Sequence[str]:
        return loud_lines(self.ledger.judgement(), self.ledger)


def is_loud(line: str, level: int = LOUD) -> bool:
    """Of a message of several lines the first alone has the level in front; others may be empty."""
    return line[:1].isdecimal() and int(line[0]) <= level


def loud_lines(judgement: Judgement, ledger: Ledger) -> list[str]:
    """The kernel's warnings and errors, each beside the first state that gave it."""
    lines: list[str] = []
    seen: set[int] = set()
    for state in judgement.states:
        if state.observation in seen:
            continue
        seen.add(state.observation)
        loud = [line for line in ledger.kernel_log(state.observation) if is_loud(line)]
        lines += [f"== recovering {state.spec} ==", *loud] if loud else []
    return lines


def walk_asks(history: History, profile: Profile, tier: Tier) -> int:
    """walk_flags(), with the times of directories where a promise asks for them. Elsewhere they would only
    make equal trees differ: replay sets those of a directory that was not fsynced to its own clock."""
    asks = walk_flags(history)
    if asks & WANT_TIMES and asked(profile, "fsync-directory-times", tier):
        asks |= WANT_DIRECTORY_TIMES
    return asks
