"""
Ask one question of many workloads: does this one show that violation, and where first?

In:       a Target (kernel, profile, tier, guest, signature); workloads, one after the other.
Out:      the earliest state that shows it, or none; how often it does in so many recordings.
Not here: which workloads (minimize.py, reruns.py), keeping evidence (experiments/crash.py).

One guest is kept over all of them. The states after the one that answers are not recovered (but for those of
the same model, where it is not O), and the checker runs only when it is the checker that complains.
"""

import shutil
from collections.abc import Iterator, Sequence

import msgspec

from harness.experiments.damage import DamageSweep
from harness.experiments.faults import triggered_points
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot, GuestSpec, GuestTrouble, LostGuest
from harness.host.workspace import Workspace
from harness.stages.explore import Explorer, StatePlan
from harness.stages.fault_points import points_of
from harness.stages.inject import Faulting
from harness.stages.judge import DamageJudge, FaultJudge, Judge
from harness.stages.record import NotRecorded, Recording, record
from harness.stages.recover import Recovered, Recovery, walk_flags
from harness.states.crash import DEFAULT_MODELS, State, states
from harness.states.disk import BadEntry
from harness.states.log import BadLog, Log, open_log
from harness.states.nested import FOLDER
from oracles import fsck
from oracles.faults import alive
from oracles.faults.damage import Damage, split
from oracles.finding import signature
from oracles.profiles import Profile
from oracles.verdict import Tier, Verdict
from reports.results import DAMAGE, FAULTS, Experiment, Finding
from workloads.faults import parse_point
from workloads.workload import Workload


class Trigger(msgspec.Struct, frozen=True):
    """Which states are looked at of a finding that no power failure alone shows. kind: FAULTS or DAMAGE.

    fault:  its kind: at every point of a workload that kind of fault is tried, and no other.
    damage: done in each state that reads its block. block: the name of the blocks in which others are drawn,
            "" for all.
    """

    kind: str
    fault: str = ""
    damage: Damage | None = None
    block: str = ""


def trigger_of(finding: Finding, experiment: Experiment) -> Trigger | None:
    """What showed this finding; None for a crash state."""
    facts = experiment.facts
    assert experiment.history is not None
    if facts.kind == FAULTS:
        return Trigger(FAULTS, fault=parse_point(finding.state, experiment.history.workload).kind)
    if facts.kind != DAMAGE:
        return None
    _, damage = split(finding.state)
    of_kernel = finding.oracle == alive.NAME  # its role is a place in the kernel, and else the block's name
    return Trigger(DAMAGE, damage=damage, block="" if of_kernel else finding.role)


class Target(msgspec.Struct, frozen=True):
    """What is asked about. kernel: a kernel spec, spec: the guest that runs it. signatures: as in
    oracles/finding.py. models: whose states are examined, in this order, until all were seen. trigger: the
    state that showed it, where that is of no crash model."""

    kernel: str
    spec: GuestSpec
    profile: Profile
    tier: Tier
    signatures: tuple[str, ...]
    models: tuple[str, ...] = DEFAULT_MODELS
    trigger: Trigger | None = None

    @property
    def with_fsck(self) -> bool:
        return any(f" {fsck.NAME}: " in one for one in self.signatures)


Shown = tuple[str, tuple[Verdict, ...]]  # a state's spec, and what was said of it
DAMAGES = 150  # drawn in a recording: a second or two of recovery


class Answered(msgspec.Struct, frozen=True):
    """By signature the spec of the first state that shows it; entry_count: of the log.
    trouble: "" or why the workload could not be examined. failed: operations that did nothing."""

    first: dict[str, str]
    entry_count: int = 0
    trouble: str = ""
    failed: int = 0


class InterestingnessTest:
    """Use as a context. `recordings` counts what it did."""

    def __init__(self, target: Target, space: Workspace) -> None:
        self.target = target
        self.recordings = 0
        self._space = space
        self._guest_slot = GuestSlot(target.spec, space)
        self._pristine = space.path / "pristine"

    def __enter__(self) -> "InterestingnessTest":
        make_filesystem(self.target.profile, self._pristine)
        return self

    def __exit__(self, *exception: object) -> None:
        self._guest_slot.drop()

    def examine(self, workload: Workload) -> Answered:
        """Record it, and recover state after state until each signature was seen."""
        self.recordings += 1
        try:
            return self._examine(workload)
        except (NotRecorded, BadEntry, BadLog, GuestTrouble, LostGuest) as error:
            self._guest_slot.drop()
            return Answered({}, trouble=str(error))

    def _examine(self, workload: Workload) -> Answered:
        target = self.target
        guest = self._guest_slot.guest()
        recording = record(guest, target.profile, workload, self._pristine, target.kernel)
        if target.trigger is not None:
            return self._of_device(workload, recording, target.trigger)
        judge = Judge(recording.history, target.profile, target.tier)
        first: dict[str, str] = {}
        with open_log(recording.log) as log:
            for model in target.models:
                for recovered in self._recovered(recording, log, model, first):
                    for name in signatures_of(target.profile, judge.add(recovered)):
                        if name in target.signatures:
                            first.setdefault(name, recovered.spec)
                if len(first) == len(target.signatures):
                    break
            return Answered(first, len(log), failed=failed_in(recording))

    def _of_device(self, workload: Workload, recording: Recording, trigger: Trigger) -> Answered:
        first: dict[str, str] = {}
        with open_log(recording.log) as log:
            look = self._faulted if trigger.kind == FAULTS else self._damaged
            for spec, verdicts in look(workload, recording, log, trigger):
                for name in signatures_of(self.target.profile, verdicts) & {*self.target.signatures}:
                    first.setdefault(name, spec)
                if len(first) == len(self.target.signatures):
                    break
            return Answered(first, len(log), failed=failed_in(recording))

    def _faulted(
        self, workload: Workload, recording: Recording, log: Log, trigger: Trigger
    ) -> Iterator[Shown]:
        one, history = self.target.profile, recording.history
        judge = FaultJudge(history, one, self.target.tier)
        entries = [log.summary(index) for index in range(len(log))]
        points = [point for point in points_of(history, entries)[0] if point.kind == trigger.fault]
        faulting = Faulting(self._guest_slot, one, self._pristine, walk_flags(history))
        for met in triggered_points(faulting, workload, points, entries):
            if met is not None:
                yield met[0].spec, judge.add(met[0].spec, met[1])

    def _damaged(
        self, workload: Workload, recording: Recording, log: Log, trigger: Trigger
    ) -> Iterator[Shown]:
        target = self.target
        judge = DamageJudge(recording.history, target.profile, target.tier)
        assert trigger.damage is not None
        state_plan = StatePlan(budget=DAMAGES, damages=(trigger.damage,))
        sweep = DamageSweep(
            self._guest_slot, target.profile, state_plan, recording, log, self._space.path, judge
        )
        return sweep.shown(trigger.block)

    def _recovered(
        self, recording: Recording, log: Log, model: str, first: dict[str, str]
    ) -> Iterator[Recovered]:
        target, folder = self.target, self._space.path
        asks = walk_flags(recording.history)
        recovery = Recovery(self._guest_slot, target.profile, target.with_fsck, folder, asks)
        if model == "O":
            wanted = self._until_all_seen(states(len(log)), first)
            return recovery.run(recording.base, log, wanted)
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        examination = Explorer(StatePlan((model,)), target.profile.atomic_bytes, log, folder)
        return examination.recovered(recovery, recording.base)

    def _until_all_seen(self, every: Iterator[State], first: dict[str, str]) -> Iterator[State]:
        """Recovery looks some states ahead of its answers; those are recovered in vain, and no more."""
        for state in every:
            if len(first) == len(self.target.signatures):
                return
            yield state


def failed_in(recording: Recording) -> int:
    """How many operations of setup and run failed while it was recorded."""
    return sum(step.result < 0 for step in (*recording.history.setup, *recording.history.run))


def signatures_of(profile: Profile, verdicts: Sequence[Verdict]) -> set[str]:
    return {
        signature(profile.name, verdict.oracle, violation)
        for verdict in verdicts
        for violation in verdict.violations
    }
