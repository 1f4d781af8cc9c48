"""
Recover states on the recorded disk itself: on a machine, a real one.

In:       how to boot a guest, a profile, a base disk, a log; a state.
Out:      OnDisk.recover(): a Recovered, without the checker's answer.
Not here: recovery from memory, which throws away what it wrote (recover.py).

The disk of the state in the guest's memory is copied to the recorded disk, and recovered there. What recovery
writes stays until the next state, whose content replaces all of it.
"""

from pathlib import Path

from harness.guests.guest import OUTBOX, Guest, GuestSlot, GuestTrouble
from harness.stages.recover import Recovered, Session, block_writes, in_chunks
from harness.states.log import SECTOR_BYTES, Log
from harness.states.rebuild import Rebuilding
from oracles.profiles import Profile
from oracles.spec import State

COPY_S = 300.0  # for a disk of a few hundred MiB, of which little is no zeros


class OnDisk:
    """Use as a context. asks: of walk_flags()."""

    def __init__(self, guest_slot: GuestSlot, profile: Profile, base: Path, log: Log, asks: int) -> None:
        self._guest_slot, self._profile, self._asks = guest_slot, profile, asks
        self._ahead = Rebuilding(base, log)
        self._session: Session | None = None

    def __enter__(self) -> "OnDisk":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._session is not None:
            self._session.guest.held = None
        self._ahead.__exit__(*exception)

    def recover(self, state: State) -> Recovered:
        """Errors: LostGuest, GuestTrouble, BadLog."""
        self._ahead.move(state)
        guest = self._guest_slot.guest()
        self._bring(guest)
        profile = self._profile
        words = guest.ask(
            f"ondisk {self._asks} {profile.size_bytes // SECTOR_BYTES} {profile.filesystem} "
            f"{profile.mount_options or '-'}",
            timeout_s=COPY_S,
        )
        if words[:1] != ["report"]:
            raise GuestTrouble(f"expected a report, got {words}")
        return Recovered(state.spec, state.prefix, "", guest.read(OUTBOX, 0, int(words[1])))

    def _bring(self, guest: Guest) -> None:
        disk, dirty = self._ahead.disk, self._ahead.dirty
        if self._session is None or self._session.guest is not guest:
            self._session = Session(guest, self._profile, with_fsck=False)
            self._session.load({block: disk.block(block) for block in disk.nonzero_blocks()})
            self._session.flush()
        else:
            for chunk in in_chunks(block_writes(disk.image, sorted(dirty))):
                if chunk:
                    self._session.build(chunk)
        dirty.clear()
