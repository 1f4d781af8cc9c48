"""
Recover states on the recorded disk itself: on a machine, a real one.

In:       how to boot a guest, a profile, a base disk, a log; a state.
Out:      OnDisk.recover(): a Recovered, without the checker's answer.
Not here: recovery from memory, which throws away what it wrote (recover.py).

The disk of the state in the guest's memory is copied to the recorded disk, and recovered there. What recovery
writes stays until the next state, whose content replaces all of it.
"""

from pathlib import Path

from harness.guests.guest import OUTBOX, GuestSlot, GuestTrouble
from harness.stages.forward import Forward
from harness.stages.recover import Recovered
from harness.states.log import SECTOR_BYTES, Log
from oracles.profiles import Profile
from oracles.spec import State

COPY_S = 300.0  # for a disk of a few hundred MiB, of which little is no zeros


class OnDisk:
    """Use as a context. asks: of walk_flags()."""

    def __init__(self, guest_slot: GuestSlot, profile: Profile, base: Path, log: Log, asks: int) -> None:
        self._profile, self._asks = profile, asks
        self._forward = Forward(guest_slot, profile, base, log)

    def __enter__(self) -> "OnDisk":
        return self

    def __exit__(self, *exception: object) -> None:
        self._forward.__exit__(*exception)

    def recover(self, state: State) -> Recovered:
        """Errors: LostGuest, GuestTrouble, BadLog."""
        guest = self._forward.move(state)
        self._forward.bring(guest)
        profile = self._profile
        words = guest.ask(
            f"ondisk {self._asks} {profile.size_bytes // SECTOR_BYTES} {profile.filesystem} "
            f"{profile.agent_options or '-'}",
            timeout_s=COPY_S,
        )
        if words[:1] != ["report"]:
            raise GuestTrouble(f"expected a report, got {words}")
        return Recovered(state.spec, state.prefix, "", guest.read(OUTBOX, 0, int(words[1])))
