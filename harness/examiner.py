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

from harness.crash import DEFAULT_MODELS, State, states
from harness.disk import BadEntry
from harness.examine import Breadth, Examination
from harness.filesystem import make_filesystem
from harness.guest import GuestSpec, GuestTrouble, Keeper, LostGuest
from harness.judging import Judge
from harness.log import BadLog, Log, open_log
from harness.nest import FOLDER
from harness.record import NotRecorded, Recording, record
from harness.recover import Recovered, Recovery, asks_of
from harness.workspace import Workspace
from oracles import fsck
from oracles.finding import signature
from oracles.profiles import Profile
from oracles.verdict import Tier, Verdict
from workloads.workload import Workload


class Subject(msgspec.Struct, frozen=True):
    """What is asked about. kernel: a KERNEL word, spec: the guest that runs it. signatures: as in
    oracles/finding.py. models: whose states are examined, in this order, until all were seen."""

    kernel: str
    spec: GuestSpec
    profile: Profile
    tier: Tier
    signatures: tuple[str, ...]
    models: tuple[str, ...] = DEFAULT_MODELS

    @property
    def with_fsck(self) -> bool:
        return any(f" {fsck.NAME}: " in one for one in self.signatures)


class Sight(msgspec.Struct, frozen=True):
    """By signature the spec of the first state that shows it; entry_count: of the log.
    trouble: "" or why the workload could not be examined."""

    first: dict[str, str]
    entry_count: int = 0
    trouble: str = ""


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
            return Sight(first, len(log))

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


def signatures_of(profile: Profile, verdicts: Sequence[Verdict]) -> set[str]:
    return {
        signature(profile.name, verdict.oracle, violation)
        for verdict in verdicts
        for violation in verdict.violations
    }
