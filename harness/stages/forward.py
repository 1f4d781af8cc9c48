"""
The disk of one state after another in a guest's memory, for what is done with each of them there.

In:       how to boot a guest, a profile, a base disk, a log; a state.
Out:      Forward.bring(): a guest that holds the disk of the state.
Not here: what is done with it (ask.py, on_disk.py), many states at once (recover.py).
"""

from pathlib import Path

from harness.guests.guest import Guest, GuestSlot
from harness.stages.session import Session, block_writes, in_chunks
from harness.states.log import Log
from harness.states.rebuild import Rebuilding
from oracles.profiles import Profile
from oracles.spec import State


class Forward:
    """Use as a context."""

    def __init__(
        self, guest_slot: GuestSlot, profile: Profile, base: Path, log: Log, recoveries: Path | None = None
    ) -> None:
        self._guest_slot, self._profile = guest_slot, profile
        self._ahead = Rebuilding(base, log, recoveries)
        self._session: Session | None = None

    def __enter__(self) -> "Forward":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._session is not None:
            self._session.guest.held = None
        self._ahead.__exit__(*exception)

    def move(self, state: State) -> Guest:
        """The guest that bring() is for; its disk is still that of the state before.
        Errors: BadEntry, BadLog, LostGuest, GuestTrouble."""
        self._ahead.move(state)
        return self._guest_slot.guest()

    def bring(self, guest: Guest) -> None:
        """The guest's disk to that of the state. Errors: LostGuest, GuestTrouble."""
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

    def forget(self) -> None:
        """The guest's disk is no longer known: the next state is brought whole."""
        self._session = None
