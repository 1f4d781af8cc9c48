"""
One experiment with damage at rest: its states recovered whole, then damaged, judged, kept.

In:       a Plan of kind DAMAGE, a guest to use, where to keep the evidence.
Out:      the experiment's folder, as any other's; its states are damaged ones.
Not here: power failures alone (experiment.py), which damage is done (damaging.py), what it means
          (oracles/faults/damage.py).

First every state of model O is recovered as it is: what comes back there is what damage is held against. Then
a few of them again, to learn which blocks their mounts read; then the damaged ones. Those are as any other
state to the guest: two blocks more are sent.
"""

import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness.experiments.crash import (
    UNRECORDED,
    Outcome,
    Plan,
    Tell,
    facts_of,
    keep_evidence,
    loud_lines,
    not_recorded,
)
from harness.experiments.damaged_states import Damaging, chosen_states
from harness.guests.guest import GuestTrouble, Keeper, LostGuest
from harness.stages.explore import Breadth
from harness.stages.judge import DamageJudge, decode
from harness.stages.record import Recording, record
from harness.stages.recover import WANT_CHANGES, WANT_READS, Recovered, Recovery, asks_of
from harness.states.block_names import block_name
from harness.states.crash import State, parse_spec, states
from harness.states.disk import BadEntry
from harness.states.log import BadLog, Log, open_log
from harness.states.rebuild import Rebuilding
from oracles.profiles import Profile
from oracles.verdict import Verdict
from reports.results import Coverage, ReadBlock

# A kernel that keeps some of its words to itself: of each message of btrfs at most ten in 5 s are printed
# (btrfs_printk_ratelimited() in fs/btrfs/messages.h; DEFAULT_RATELIMIT_BURST), and all that went before
# count.
TERSE = ("btrfs",)
# States of a guest that has said nothing yet: mount and read tell of a block up to twice a copy.
FRESH_STATES = 4
AT_ONCE = 32  # states recovered before the first of them is looked at


def run_damage_experiment(
    plan: Plan, keeper: Keeper, pristine: Path, scratch: Path, run: Path, tell: Tell
) -> Outcome:
    """As experiment.run_experiment."""
    started = time.monotonic()
    try:
        recording = record(keeper.guest(), plan.profile, plan.workload, pristine, plan.kernel)
    except UNRECORDED as error:
        return not_recorded(plan, keeper, run, error)
    recorded = time.monotonic()
    judge = DamageJudge(recording.history, plan.profile, plan.tier)
    trouble = ""
    with open_log(recording.log) as log:
        bench = Bench(keeper, plan.profile, plan.breadth, recording, log, scratch, judge)
        try:
            bench.damage(tell)
        except (BadEntry, BadLog, GuestTrouble, LostGuest) as error:
            keeper.drop()
            trouble = f"damage: {error}"
        facts = facts_of(plan, trouble, recording, log)
    seconds = {"record": recorded - started, "recover": time.monotonic() - recorded}
    judgement = judge.judgement()
    facts = msgspec.structs.replace(
        facts,
        seconds={stage: round(value, 4) for stage, value in seconds.items()},
        planned={"D": bench.planned},
        coverage=bench.coverage,
        undamaged=judge.undamaged,
        reads=judge.read,
    )
    loud = loud_lines(judgement, judge)
    return keep_evidence(run, plan, facts, recording, judge, judgement, loud)


class Bench:
    """damage() of one recording, or shown() where it may end early. planned and coverage are known when it
    has begun."""

    def __init__(
        self,
        keeper: Keeper,
        profile: Profile,
        breadth: Breadth,
        recording: Recording,
        log: Log,
        scratch: Path,
        judge: DamageJudge,
    ) -> None:
        self.planned = 0
        self.coverage: tuple[Coverage, ...] = ()
        self._keeper = keeper
        self._profile = profile
        self._breadth = breadth
        self._base = recording.base
        self._log = log
        self._scratch = scratch
        self._judge = judge
        self._asks = asks_of(recording.history)

    def damage(self, tell: Tell) -> None:
        """Errors: as Recovery.run()."""
        damaging = self._learn("")
        for one in self._surely(list(self._recovered(damaging.states(), WANT_CHANGES))):
            self._judge.add(one.spec, one.same_as, one.observation)
            tell(1)

    def shown(self, only: str) -> Iterator[tuple[str, tuple[Verdict, ...]]]:
        """By spec the verdicts on each damaged state that breaks a promise, and surely so. only: the name of
        the blocks that are damaged, "" for all. Errors: as Recovery.run()."""
        waiting = self._learn(only).states()
        while some := tuple(itertools.islice(waiting, AT_ONCE)):
            for one in list(self._recovered(iter(some), WANT_CHANGES)):
                verdicts = self._judge.add(one.spec, one.same_as, one.observation)
                if any(verdict.violations for verdict in verdicts):
                    (sure,) = self._surely([msgspec.structs.replace(one, same_as="")])
                    yield sure.spec, self._judge.add(sure.spec, "", sure.observation)

    def _learn(self, only: str) -> Damaging:
        """What comes back of every state whole, and what is done to some."""
        whole = list(self._recovered(states(len(self._log)), 0))
        for one in whole:
            self._judge.add_undamaged(one.spec, one.observation)
        with Rebuilding(self._base, self._log) as disks:
            reads = self._reads(chosen_states(whole), disks)
            self._judge.read = {state.spec: blocks for state, blocks in reads.items()}
            breadth = self._breadth
            if only:
                reads = {
                    state: tuple(block for block in blocks if block.name == only)
                    for state, blocks in reads.items()
                }
            damaging = Damaging(disks, reads, breadth.budget, breadth.seed, breadth.damages)
        self.planned, self.coverage = damaging.count, (damaging.coverage,)
        return damaging

    def _recovered(self, wanted: Iterator[State], asks: int) -> Iterator[Recovered]:
        recovery = Recovery(self._keeper, self._profile, False, self._scratch, self._asks | asks)
        return recovery.run(self._base, self._log, wanted)

    def _reads(self, chosen: Sequence[State], disks: Rebuilding) -> dict[State, tuple[ReadBlock, ...]]:
        filesystem = self._profile.filesystem
        found: dict[State, tuple[ReadBlock, ...]] = {}
        for state, one in zip(chosen, self._recovered(iter(chosen), WANT_READS), strict=True):
            disks.move(state)
            found[state] = tuple(
                ReadBlock(block, block_name(filesystem, disks.disk.block, block))
                for first, count in decode(one.observation).reads
                for block in range(first, first + count)
            )
        return found

    def _surely(self, recovered: list[Recovered]) -> Iterator[Recovered]:
        """The same, those that came back without a word asked again of guests that have not spoken yet."""
        again = [one.spec for one in recovered if not one.same_as and self._is_doubtful(one)]
        sure: dict[str, bytes] = {}
        for at in range(0, len(again), FRESH_STATES):
            self._keeper.drop()
            some = [parse_spec(spec, self._log) for spec in again[at : at + FRESH_STATES]]
            for one in self._recovered(iter(some), WANT_CHANGES):
                sure[one.spec] = one.observation
        for one in recovered:
            observation = sure.get(one.same_as or one.spec, one.observation)
            yield msgspec.structs.replace(one, observation=observation)

    def _is_doubtful(self, one: Recovered) -> bool:
        terse = self._profile.filesystem in TERSE
        return terse and self._judge.is_untold(one.spec, one.observation)
