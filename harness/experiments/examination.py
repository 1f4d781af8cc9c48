"""
One way from a recording to verdicts, whatever the kind of experiment.

In:       a Setting: the guest, the profile, the tier, the folders; a workload.
Out:      recorded(): its Recording and log; Examination: what each kind of experiment makes of them, Judged
          after Judged.
Not here: the kinds (crash_states.py, faults.py, damage.py), keeping the evidence (experiment.py), asking
          for one signature (interestingness.py).
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from harness.guests.guest import GuestSlot, GuestTrouble, LostGuest
from harness.stages.checks import Audit
from harness.stages.counters import Tally
from harness.stages.gcov import COUNT, OF_RECORDING, NotCounted, since_count, told
from harness.stages.judge import Ledger
from harness.stages.live import Died
from harness.stages.record import NotRecorded, Recording, record
from harness.stages.trace import record_program
from harness.states.disk import BadEntry
from harness.states.log import BadLog, Log, open_log
from oracles.profiles import Profile
from oracles.verdict import Tier, Verdict
from reports.coverage.results import RECORDED
from reports.results import Device
from workloads.workload import Workload

# What ends the examination of a recording; what was judged until then stays.
UNEXAMINED = (BadEntry, BadLog, GuestTrouble, LostGuest, NotCounted)
# What ends a recording: nothing of it can be judged.
UNRECORDED = (NotRecorded, *UNEXAMINED)


class Setting(msgspec.Struct, frozen=True):
    """Where an experiment is done. kernel: its kernel spec, for the history. pristine: the image as mkfs left
    it. scratch: a folder for disks and logs. with_fsck: whether the checker is asked about what came back.
    device: under the recording. audit: of the checker's answers that are proven. tally: of a kernel that
    counts what it executes. proving: whether states are proven by earlier ones, and not recovered."""

    guest_slot: GuestSlot
    profile: Profile
    tier: Tier
    kernel: str
    pristine: Path
    scratch: Path
    with_fsck: bool = True
    device: Device = Device()
    audit: Audit = Audit()
    tally: Tally | None = None
    proving: bool = True


class Judged(NamedTuple):
    """A state, and what the oracles said of it. same_as, proven_by: of Recovered."""

    spec: str
    verdicts: tuple[Verdict, ...]
    same_as: str = ""
    proven_by: str = ""


class Examination(Protocol):
    """What a kind of experiment does with a recording."""

    @property
    def stage(self) -> str:
        """Its name in troubles."""

    @property
    def recoveries(self) -> Path | None:
        """The folder of the recoveries that were recorded for nested states, None where there are none."""

    @property
    def ledger(self) -> Ledger:
        """What the store keeps of the states judged so far."""

    def judged(self) -> Iterator[Judged]:
        """State after state. Errors: UNEXAMINED."""

    def seconds(self, elapsed_s: float) -> dict[str, float]:
        """Of the time that judged() took, what each stage had."""

    def trouble(self) -> str:
        """Why something could not be done, though judged() came to its end; "" when all was done."""

    def facts(self) -> dict[str, Any]:
        """Fields of ExperimentFacts that this kind alone has."""

    def kernel_log(self) -> Sequence[str]:
        """What the kernel said after the recording that is worth keeping, under a headline for each state."""


def record_in(setting: Setting, workload: Workload) -> Recording:
    """Errors: UNRECORDED; of them Died where the kernel ended."""
    if setting.tally is None:
        return _record_in(setting, workload)
    program = workload.program is not None
    if program:  # with its setup, which only the program itself knows
        setting.guest_slot.recorder.guest().ask(COUNT)
    recording = _record_in(setting, workload)
    asked = since_count(setting.profile.filesystem) if program else OF_RECORDING
    setting.tally.add(RECORDED, told(setting.guest_slot.recorder.guest(), asked))
    return recording


def _record_in(setting: Setting, workload: Workload) -> Recording:
    """A guest that gave no answer, and whose kernel said nothing about that, is asked again: a hang that
    comes again during the same operation is the kernel's. Errors: UNRECORDED; of them Died where the kernel
    ended."""
    slot, device = setting.guest_slot.recorder, setting.device
    guest = slot.guest()
    if workload.program is not None:
        return record_program(guest, setting.profile, workload, setting.pristine, setting.kernel)
    try:
        return record(guest, setting.profile, workload, setting.pristine, setting.kernel, device=device)
    except LostGuest as lost:
        if isinstance(lost, Died) or lost.kind == "panic":
            raise
        slot.drop()
        # One whose process ended without a word of its kernel was killed by somebody.
        guest, stage = slot.guest(), lost.stage if lost.kind == "hang" else ""
    return record(guest, setting.profile, workload, setting.pristine, setting.kernel, stage, device)


@contextlib.contextmanager
def recorded(setting: Setting, workload: Workload) -> Iterator[tuple[Recording, Log]]:
    """The workload's recording, and its log, open. Errors: UNRECORDED."""
    recording = record_in(setting, workload)
    with open_log(recording.log) as log:
        yield recording, log
