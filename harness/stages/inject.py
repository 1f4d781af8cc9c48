"""
Run a workload at one fault point after the other, in one guest.

In:       a GuestSlot, a profile, its pristine image, fault points.
Out:      for each an Observation as JSON, as the agent told it.
Not here: which points (fault_points.py), judging (oracles/judge.py), keeping
          (experiments/faults.py).

The guest holds the pristine disk in memory. Each run works on a snapshot of it, which the next run drops, and
above that on device mapper's failing targets (agent/faults.c): no boot, no copy.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.guests.guest import INBOX, OUTBOX, Guest, GuestSlot, GuestTrouble, LostGuest
from harness.stages.fault_points import fault_program
from harness.stages.session import USED_UP, Session, held
from harness.states.disk import nonzero_blocks
from oracles.observation import Observation
from oracles.profiles import Profile
from workloads.entries import EntrySummary
from workloads.faults import FaultPoint
from workloads.workload import Workload

RUN_TIMEOUT_S = 30.0  # the longest run of the library takes 0.4 s


class Faulting:
    """`deaths` counts guests that a run took. asks: of session.walk_flags()."""

    def __init__(self, guest_slot: GuestSlot, profile: Profile, pristine: Path, asks: int = 0) -> None:
        self._guest_slot = guest_slot
        self._profile = profile
        self._pristine = pristine
        self._asks = asks
        self._guest: Guest | None = None
        self.deaths = 0

    def run(self, workload: Workload, point: FaultPoint, entries: Sequence[EntrySummary]) -> bytes:
        """
        A run that takes the guest with it is repeated in a new one, and believed if it does so again: a lost
        guest may be our trouble, a panic is not.
        Errors: LostGuest and GuestTrouble when no guest can be started.
        """
        program = fault_program(self._profile, workload, point, entries)
        try:
            report = self._ask(program)
            if report.endswith(USED_UP):
                self._drop()
            return report
        except LostGuest as death:
            self.deaths += 1
            first = death
        except GuestTrouble as trouble:
            self._drop()
            return msgspec.json.encode(Observation(trouble=str(trouble)))
        self._drop()
        try:
            report = self._ask(program)
            return of_death(first) if first.kind == "panic" else report
        except LostGuest as again:
            self._drop()
            return of_death(first if first.kind == "panic" else again)
        except GuestTrouble as trouble:
            self._drop()
            return msgspec.json.encode(Observation(trouble=str(trouble)))

    def _ask(self, program: str) -> bytes:
        guest = self._open()
        text = program.encode()
        guest.write(INBOX, 0, text)
        guest.stage = ""
        answer = guest.ask(f"faults {self._asks} {len(text)}", RUN_TIMEOUT_S)
        return guest.read(OUTBOX, 0, int(answer[1]))

    def _open(self) -> Guest:
        guest = self._guest_slot.guest()
        if guest is not self._guest:
            session = Session(guest, self._profile, with_fsck=False)
            blocks = nonzero_blocks(self._pristine)
            session.load(blocks)
            session.flush()
            guest.held = held(blocks)
            self._guest = guest
        return guest

    def _drop(self) -> None:
        self._guest_slot.drop()
        self._guest = None


def of_death(death: LostGuest) -> bytes:
    if death.kind == "exit":  # no panic, no hang: we lost it
        return msgspec.json.encode(Observation(trouble=str(death), console=death.console))
    return msgspec.json.encode(Observation(death=death.kind, death_during=death.stage, console=death.console))
