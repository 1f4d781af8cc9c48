"""
Ask one question of many workloads: does this one show that violation, and where first?

In:       a Subject (kernel, profile, tier, guest, signature); workloads, one after the other.
Out:      the earliest state that shows it, or none; how often it does in so many recordings.
Not here: which workloads (minimize.py, repeats.py), keeping evidence (experiment.py).

One guest is kept over all of them. The states after the one that answers are not recovered (but for those of
the same model, where it is not O), and the checker runs only when it is the checker that complains.
"""

import shutil
from collections.abc import Iterator, Sequence

import msgspec

from harness.experiments.damage import Bench
from harness.experiments.faults import met_points
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSpec, GuestTrouble, Keeper, LostGuest
from harness.host.workspace import Workspace
from harness.stages.explore import Breadth, Examination
from harness.stages.fault_points import points_of
from harness.stages.inject import Faulting
from harness.stages.judge import DamageJudge, FaultJudge, Judge
from harness.stages.record import NotRecorded, Recording, record
from harness.stages.recover import Recovered, Recovery, asks_of
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


class Like(msgspec.Struct, frozen=True):
    """Which states are looked at of a finding that no power failure alone shows. kind: FAULTS or DAMAGE.

    fault:  its kind: at every point of a workload that kind of fault is tried, and no other.
    damage: done in each state that reads its block. block: the name of the blocks in which others are drawn,
            "" for all.
    """

    kind: str
    fault: str = ""
    damage: Damage | None = None
    block: str = ""


def like(finding: Finding, experiment: Experiment) -> Like | None:
    """What showed this finding; None for a crash state."""
    facts = experiment.facts
    assert experiment.history is not None
    if facts.kind == FAULTS:
        return Like(FAULTS, fault=parse_point(finding.state, experiment.history.workload).kind)
    if facts.kind != DAMAGE:
        return None
    _, damage = split(finding.state)
    of_kernel = finding.oracle == alive.NAME  # its role is a place in the kernel, and else the block's name
    return Like(DAMAGE, damage=damage, block="" if of_kernel else finding.role)


class Subject(msgspec.Struct, frozen=True):
    """What is asked about. kernel: a KERNEL word, spec: the guest that runs it. signatures: as in
    oracles/finding.py. models: whose states are examined, in this order, until all were seen. like: the
    state that showed it, where that is of no crash model."""

    kernel: str
    spec: GuestSpec
    profile: Profile
    tier: Tier
    signatures: tuple[str, ...]
    models: tuple[str, ...] = DEFAULT_MODELS
    like: Like | None = None

    @property
    def with_fsck(self) -> bool:
        return any(f" {fsck.NAME}: " in one for one in self.signatures)


Shown = tuple[str, tuple[Verdict, ...]]  # a state's spec, and what was said of it
DAMAGES = 150  # drawn in a recording: a second or two of recovery


class Sight(msgspec.Struct, frozen=True):
    """By signature the spec of the first state that shows it; entry_count: of the log.
    trouble: "" or why the workload could not be examined. failed: operations that failed."""

    first: dict[str, str]
    entry_count: int = 0
    trouble: str = ""
    failed: int = 0


class Examiner:
    """Use as a context. `recordings` counts what it did."""

    def __init__(self, subject: Subject, space: Workspace) -> None:
        self.subject = subject
        self.recordings = 0
        self._space = space
        self._keeper = Keeper(subject.spec, space)
        self._pristine = space.path / "pristine"

    def __enter__(self) -> "Examiner":
        make_filesystem(self.subject.profile, self._pristine)
        return self

    def __exit__(self, *exception: object) -> None:
        self._keeper.drop()

    def examine(self, workload: Workload) -> Sight:
        """Record it, and recover state after state until each signature was seen."""
        self.recordings += 1
        try:
            return self._examine(workload)
        except (NotRecorded, BadEntry, BadLog, GuestTrouble, LostGuest) as error:
            self._keeper.drop()
            return Sight({}, trouble=str(error))

    def _examine(self, workload: Workload) -> Sight:
        subject = self.subject
        guest = self._keeper.guest()
        recording = record(guest, subject.profile, workload, self._pristine, subject.kernel)
        if subject.like is not None:
            return self._of_device(workload, recording, subject.like)
        judge = Judge(recording.history, subject.profile, subject.tier)
        first: dict[str, str] = {}
        with open_log(recording.log) as log:
            for model in subject.models:
                for recovered in self._recovered(recording, log, model, first):
                    for name in signatures_of(subject.profile, judge.add(recovered)):
                        if name in subject.signatures:
                            first.setdefault(name, recovered.spec)
                if len(first) == len(subject.signatures):
                    break
            return Sight(first, len(log), failed=failed_in(recording))

    def _of_device(self, workload: Workload, recording: Recording, like: Like) -> Sight:
        first: dict[str, str] = {}
        with open_log(recording.log) as log:
            look = self._faulted if like.kind == FAULTS else self._damaged
            for spec, verdicts in look(workload, recording, log, like):
                for name in signatures_of(self.subject.profile, verdicts) & {*self.subject.signatures}:
                    first.setdefault(name, spec)
                if len(first) == len(self.subject.signatures):
                    break
            return Sight(first, len(log), failed=failed_in(recording))

    def _faulted(self, workload: Workload, recording: Recording, log: Log, like: Like) -> Iterator[Shown]:
        one, history = self.subject.profile, recording.history
        judge = FaultJudge(history, one, self.subject.tier)
        entries = [log.summary(index) for index in range(len(log))]
        points = [point for point in points_of(history, entries)[0] if point.kind == like.fault]
        faulting = Faulting(self._keeper, one, self._pristine, asks_of(history))
        for met in met_points(faulting, workload, points, entries):
            if met is not None:
                yield met[0].spec, judge.add(met[0].spec, met[1])

    def _damaged(self, workload: Workload, recording: Recording, log: Log, like: Like) -> Iterator[Shown]:
        subject = self.subject
        judge = DamageJudge(recording.history, subject.profile, subject.tier)
        assert like.damage is not None
        breadth = Breadth(budget=DAMAGES, damages=(like.damage,))
        bench = Bench(self._keeper, subject.profile, breadth, recording, log, self._space.path, judge)
        return bench.shown(like.block)

    def _recovered(
        self, recording: Recording, log: Log, model: str, first: dict[str, str]
    ) -> Iterator[Recovered]:
        subject, folder = self.subject, self._space.path
        asks = asks_of(recording.history)
        recovery = Recovery(self._keeper, subject.profile, subject.with_fsck, folder, asks)
        if model == "O":
            wanted = self._until_all_seen(states(len(log)), first)
            return recovery.run(recording.base, log, wanted)
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        examination = Examination(Breadth((model,)), subject.profile.atomic_bytes, log, folder)
        return examination.recovered(recovery, recording.base)

    def _until_all_seen(self, every: Iterator[State], first: dict[str, str]) -> Iterator[State]:
        """Recovery looks some states ahead of its answers; those are recovered in vain, and no more."""
        for state in every:
            if len(first) == len(self.subject.signatures):
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
