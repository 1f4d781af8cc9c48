"""
Ask one question of many workloads: does this one show that violation, and where first?

In:       a Target (kernel, profile, tier, guest, signature); workloads, one after the other.
Out:      the earliest state that shows it, or none; how often it does in so many recordings.
Not here: which workloads (minimize.py, reruns.py), keeping evidence (experiment.py).

One guest is kept over all of them. The states after the one that answers are not recovered (but for those of
the same model, where it is not O), and the checker runs only when it is the checker that complains.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from harness.experiments.crash_states import CrashStates
from harness.experiments.damage import DamageSweep
from harness.experiments.examination import UNRECORDED, Judged, Setting, recorded
from harness.experiments.faults import FaultSweep
from harness.experiments.program_states import crash_states
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot
from harness.guests.spec import GuestSpec
from harness.local.workspace import Workspace
from harness.stages.explore import StatePlan
from harness.stages.judge import Judge
from harness.stages.live import Died, Live
from harness.stages.record import Recording
from harness.states.crash import DEFAULT_MODELS
from harness.states.log import Log
from harness.states.nested import FOLDER
from oracles import fsck
from oracles.faults import alive
from oracles.faults.damage import split
from oracles.finding import signature
from oracles.live import judge_live
from oracles.profiles import Profile
from oracles.spec import LIVE, MODELS, Damage, State, is_live, model_of, place_of
from oracles.verdict import Tier, Verdict
from reports.results import DAMAGE, FAULTS, Device, Experiment, Finding
from workloads.faults import parse_point
from workloads.shrinking import Seen
from workloads.workload import Workload


class Trigger(msgspec.Struct, frozen=True):
    """Which states are looked at of a finding that no power failure alone shows. kind: FAULTS, DAMAGE or
    LIVE, of which there is only the kernel that records.

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
    if is_live(finding.state):
        return Trigger(LIVE)
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
    state that showed it, where that is of no crash model. device: under the recordings."""

    kernel: str
    spec: GuestSpec
    profile: Profile
    tier: Tier
    signatures: tuple[str, ...]
    models: tuple[str, ...] = DEFAULT_MODELS
    trigger: Trigger | None = None
    device: Device = Device()

    @property
    def with_fsck(self) -> bool:
        return any(f" {fsck.NAME}: " in one for one in self.signatures)


LATE = 300  # prefixes at the end of a long log that are asked first
DAMAGES = 150  # drawn in a recording: a second or two of recovery


class Answered(msgspec.Struct, frozen=True):
    """By signature the spec of the first state that shows it; entry_count: of the log.
    trouble: "" or why the workload could not be examined. failed: operations that failed. seen: by signature
    what that state says of the workload; of power failures only."""

    first: dict[str, str]
    entry_count: int = 0
    trouble: str = ""
    failed: int = 0
    seen: dict[str, Seen] = {}


class InterestingnessTest:
    """Use as a context. `recordings` counts what it did."""

    def __init__(self, target: Target, space: Workspace) -> None:
        self.target = target
        self.recordings = 0
        self._space = space
        self._guest_slot = GuestSlot(target.spec, space)
        self._setting = Setting(
            self._guest_slot,
            target.profile,
            target.tier,
            target.kernel,
            space.path / "pristine",
            space.path,
            target.with_fsck,
            target.device,
        )

    def __enter__(self) -> "InterestingnessTest":
        make_filesystem(self.target.profile, self._setting.pristine)
        return self

    def __exit__(self, *exception: object) -> None:
        self._guest_slot.drop()

    def examine(self, workload: Workload) -> Answered:
        """Record it, and recover state after state until each signature was seen."""
        self.recordings += 1
        try:
            with recorded(self._setting, workload) as (recording, log):
                seen: dict[str, Seen] = {}
                first = self._first_shown(recording, log, seen)
                return Answered(first, len(log), failed=failed_in(recording), seen=seen)
        except Died as death:
            self._guest_slot.drop()
            first = self._of_live(death.live)
            return Answered(first, trouble="" if first else str(death))
        except UNRECORDED as error:
            self._guest_slot.drop()
            return Answered({}, trouble=str(error))

    def _of_live(self, live: Live) -> dict[str, str]:
        """By signature the state, of those that the kernel shows that recorded."""
        verdicts = judge_live(self.target.profile, self.target.tier, live.seen)
        shown = signatures_of(self.target.profile, verdicts) & {*self.target.signatures}
        return dict.fromkeys(shown, live.spec)

    def _first_shown(self, recording: Recording, log: Log, seen: dict[str, Seen]) -> dict[str, str]:
        """By signature the first state that shows it; seen: filled in."""
        first = self._of_live(recording.live) if recording.live is not None else {}
        if self._has_all(first):
            return first
        for judged in self._judged(recording, log, first):
            for name in signatures_of(self.target.profile, judged.verdicts) & {*self.target.signatures}:
                if name not in first and self.target.trigger is None:
                    seen[name] = seen_in(self.target.profile, recording, name, judged)
                first.setdefault(name, judged.spec)
            # Of a model beyond O all states are judged: its first state in their order is the answer.
            if self._has_all(first) and model_of(judged.spec) not in MODELS:
                break
        return first

    def _has_all(self, first: Mapping[str, str]) -> bool:
        return len(first) == len(self.target.signatures)

    def _judged(self, recording: Recording, log: Log, first: Mapping[str, str]) -> Iterator[Judged]:
        trigger, setting = self.target.trigger, self._setting
        if trigger is None:
            yield from self._crash_states(recording, log, first)
        elif trigger.kind == LIVE:
            return
        elif trigger.kind == FAULTS:
            yield from FaultSweep(setting, recording, log, StatePlan(), trigger.fault).judged()
        else:
            assert trigger.damage is not None
            failing = bool(trigger.damage.fails)
            state_plan = StatePlan(budget=DAMAGES, damages=(trigger.damage,), failing=failing)
            yield from DamageSweep(setting, recording, log, state_plan).shown(trigger.block)

    def _crash_states(self, recording: Recording, log: Log, first: Mapping[str, str]) -> Iterator[Judged]:
        """Model after model, until all signatures were seen."""
        judge = Judge(recording.history, self.target.profile, self.target.tier)
        for model in self.target.models:
            if self._has_all(first):
                return
            shutil.rmtree(self._space.path / FOLDER, ignore_errors=True)
            if model == "O" and len(log) > 2 * LATE:  # a workload cut behind its witness ends with it
                late = CrashStates(self._setting, recording, log, StatePlan(), judge)
                yield from late.judged_alone(State(prefix) for prefix in range(len(log) - LATE, len(log) + 1))
                if self._has_all(first):
                    return
            yield from crash_states(
                self._setting, recording, log, StatePlan((model,)), judge, lambda: self._has_all(first)
            ).judged()


def seen_in(profile: Profile, recording: Recording, name: str, judged: Judged) -> Seen:
    """What the state that shows a signature says of the workload."""
    history = recording.history
    for verdict in judged.verdicts:
        for violation in verdict.violations:
            if signature(profile.name, verdict.oracle, violation) == name:
                begun = -1 if history.parallel else history.begun_count(place_of(judged.spec))
                return Seen(begun, violation.subject)
    return Seen()


def failed_in(recording: Recording) -> int:
    """How many operations of setup and run failed while it was recorded."""
    return sum(step.result < 0 for step in (*recording.history.setup, *recording.history.run))


def signatures_of(profile: Profile, verdicts: Sequence[Verdict]) -> set[str]:
    return {
        signature(profile.name, verdict.oracle, violation)
        for verdict in verdicts
        for violation in verdict.violations
    }
