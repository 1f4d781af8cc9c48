"""
Damage at rest, and blocks that fail during recovery: the states of a recording recovered whole, then so.

In:       a Setting, a Recording and its log, a StatePlan.
Out:      DamageSweep, an Examination; its states are damaged ones.
Not here: power failures alone (crash_states.py), which damage is done (damaged_states.py), which blocks fail
          (failing_blocks.py), what it means (oracles/faults/damage.py).

First every state of model O is recovered as it is: what comes back there is what damage is held against. Then
a few of them again, to learn which blocks their mounts read; then the damaged ones. Those are as any other
state to the guest: two blocks more are sent.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.experiments.crash_states import loud_lines
from harness.experiments.damaged_states import Damaging, chosen_states
from harness.experiments.examination import Judged, Setting
from harness.experiments.failing_blocks import Failing
from harness.stages.explore import StatePlan
from harness.stages.judge import DamageJudge, Ledger, decode
from harness.stages.record import Recording
from harness.stages.recover import Recovered, Recovery
from harness.stages.session import WANT_CHANGES, WANT_EMPTY_ROOM, WANT_READS, walk_flags
from harness.states.block_names import block_name
from harness.states.crash import parse_spec, states
from harness.states.log import Log
from harness.states.rebuild import Rebuilding
from oracles.spec import State
from reports.coverage.results import DAMAGED
from reports.results import Coverage, ReadBlock

# A kernel that keeps some of its words to itself: of each message of btrfs at most ten in 5 s are printed
# (btrfs_printk_ratelimited() in fs/btrfs/messages.h; DEFAULT_RATELIMIT_BURST), and all that went before
# count.
TERSE = ("btrfs",)
# States of a guest that has said nothing yet: mount and read tell of a block up to twice a copy.
FRESH_STATES = 4
AT_ONCE = 32  # states recovered before the first of them is looked at

Blocks = dict[State, tuple[ReadBlock, ...]]


class DamageSweep:
    """judged(), or shown() where it may end early. What was planned is known when it has begun."""

    stage = "damage"
    recoveries: Path | None = None

    def __init__(self, setting: Setting, recording: Recording, log: Log, state_plan: StatePlan) -> None:
        self._setting, self._state_plan = setting, state_plan
        self._base, self._log = recording.base, log
        self._judge = DamageJudge(recording.history, setting.profile, setting.tier)
        self._walk_flags = walk_flags(recording.history) | (WANT_EMPTY_ROOM if state_plan.failing else 0)
        self._planned = 0
        self._coverage: tuple[Coverage, ...] = ()

    @property
    def ledger(self) -> Ledger:
        return self._judge.ledger

    def judged(self) -> Iterator[Judged]:
        damaged = self._learn("")
        for one in self._surely(list(self._recovered(damaged.states(), WANT_CHANGES))):
            yield Judged(one.spec, self._judge.add(one.spec, one.same_as, one.observation), one.same_as)

    def shown(self, only: str) -> Iterator[Judged]:
        """Each damaged state that breaks a promise, and surely so. only: the name of the blocks that are
        damaged, "" for all. Errors: as judged()."""
        waiting = self._learn(only).states()
        while some := tuple(itertools.islice(waiting, AT_ONCE)):
            for one in list(self._recovered(iter(some), WANT_CHANGES)):
                verdicts = self._judge.add(one.spec, one.same_as, one.observation)
                if any(verdict.violations for verdict in verdicts):
                    (sure,) = self._surely([msgspec.structs.replace(one, same_as="")])
                    yield Judged(sure.spec, self._judge.add(sure.spec, "", sure.observation))

    def seconds(self, elapsed_s: float) -> dict[str, float]:
        return {"recover": elapsed_s}

    def trouble(self) -> str:
        return ""

    def facts(self) -> dict[str, Any]:
        return {
            "planned": {"D": self._planned},
            "coverage": self._coverage,
            "undamaged": self._judge.undamaged,
            "reads": self._judge.read,
        }

    def kernel_log(self) -> Sequence[str]:
        return loud_lines(self.ledger.judgement(), self.ledger)

    def _learn(self, only: str) -> Damaging | Failing:
        """What comes back of every state whole, and what is done to some."""
        whole = list(self._recovered(states(len(self._log)), 0))
        for one in whole:
            self._judge.add_undamaged(one.spec, one.observation)
        with Rebuilding(self._base, self._log) as disks:
            reads, writes = self._met(chosen_states(whole), disks)
            self._judge.read = {
                state.spec: tuple(dict.fromkeys((*blocks, *writes[state]))) for state, blocks in reads.items()
            }
            state_plan = self._state_plan
            if only:
                reads, writes = _of_name(reads, only), _of_name(writes, only)
            budget, seed, also = state_plan.budget, state_plan.seed, state_plan.damages
            damaging: Damaging | Failing
            if state_plan.failing:
                damaging = Failing(disks, reads, writes, budget, also)
            else:
                damaging = Damaging(disks, reads, budget, seed, also)
        self._planned, self._coverage = damaging.count, (damaging.coverage,)
        return damaging

    def _recovered(self, wanted: Iterator[State], asks: int) -> Iterator[Recovered]:
        setting, flags = self._setting, self._walk_flags | asks
        # What the mended disks are asked for is asked of damaged ones alone.
        counted = self._count if setting.tally and asks == WANT_CHANGES else None
        recovery = Recovery(
            setting.guest_slot, setting.profile, False, setting.scratch, flags, counted=counted
        )
        return recovery.run(self._base, self._log, wanted)

    def _count(self, _spec: str, counters: bytes) -> None:
        assert self._setting.tally
        self._setting.tally.add(DAMAGED, counters)

    def _met(self, chosen: Sequence[State], disks: Rebuilding) -> tuple[Blocks, Blocks]:
        """By state, the blocks that its mount reads, and those that are written until it has ended;
        these only where they are to fail."""
        filesystem = self._setting.profile.filesystem
        reads: Blocks = {}
        writes: Blocks = {}
        for state, one in zip(chosen, self._recovered(iter(chosen), WANT_READS), strict=True):
            disks.move(state)
            seen = decode(one.observation)
            for runs, found in (
                (seen.reads, reads),
                (seen.writes if self._state_plan.failing else (), writes),
            ):
                found[state] = tuple(
                    ReadBlock(block, block_name(filesystem, disks.disk.block, block))
                    for first, count in runs
                    for block in range(first, first + count)
                )
        return reads, writes

    def _surely(self, recovered: list[Recovered]) -> Iterator[Recovered]:
        """The same, those that came back without a word asked again of guests that have not spoken yet."""
        again = [one.spec for one in recovered if not one.same_as and self._is_doubtful(one)]
        sure: dict[str, bytes] = {}
        for at in range(0, len(again), FRESH_STATES):
            self._setting.guest_slot.drop()
            some = [parse_spec(spec, self._log) for spec in again[at : at + FRESH_STATES]]
            for one in self._recovered(iter(some), WANT_CHANGES):
                sure[one.spec] = one.observation
        for one in recovered:
            observation = sure.get(one.same_as or one.spec, one.observation)
            yield msgspec.structs.replace(one, observation=observation)

    def _is_doubtful(self, one: Recovered) -> bool:
        terse = self._setting.profile.filesystem in TERSE and not self._state_plan.failing
        return terse and self._judge.is_untold(one.spec, one.observation)


def _of_name(blocks: Blocks, name: str) -> Blocks:
    return {state: tuple(one for one in some if one.name == name) for state, some in blocks.items()}
