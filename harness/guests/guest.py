"""
Start a guest, and keep one at hand.

In:       a GuestSpec (kernel, agent, kind), a workspace.
Out:      boot(): a Guest that has said it is ready; GuestSlot: one at a time, until it is dropped, and the
          slot of the guest that records.
Not here: what a guest is (interface.py), what the commands mean (stages/record.py, stages/session.py), how
          each kind is started (local.py).
"""

import contextlib
import functools
from collections.abc import Callable, Iterator

import msgspec

from harness.guests import local, machine
from harness.guests.interface import Guest, GuestTrouble, LostGuest
from harness.guests.spec import (
    DISK,
    INBOX,
    INBOX_BYTES,
    LOG,
    MEMORY_MIB,
    OUTBOX,
    OUTBOX_BYTES,
    SSH,
    GuestSpec,
    family,
)
from harness.local.workspace import Workspace

__all__ = [
    "DISK",
    "INBOX",
    "INBOX_BYTES",
    "LOG",
    "MEMORY_MIB",
    "OUTBOX",
    "OUTBOX_BYTES",
    "Guest",
    "GuestSlot",
    "GuestSpec",
    "GuestTrouble",
    "LostGuest",
    "boot",
]

BOOT_TIMEOUT_S = 20.0
RECORDER = "recorder"  # its folder of the workspace, where it is a guest of its own

# How a guest of each kind is started; it need not be ready.
STARTS: dict[str, Callable[[GuestSpec, Workspace], Guest]] = {
    **{kind: functools.partial(local.start, backend) for kind, backend in local.BACKENDS.items()},
    SSH: machine.start,
}


class GuestSlot:
    """One guest at a time, booted when it is needed and kept until it is dropped or we close.

    recorder: the slot of the guest that records. With one processor it is this one. What records with several
    is another guest, of the same kernel, and this one has one processor: so a state that is recovered twice
    comes back the same, which proofs rest on."""

    def __init__(self, spec: GuestSpec, space: Workspace, only_records: bool = False) -> None:
        """only_records: it is a recorder itself."""
        self.recorder = self
        if spec.cpus > 1 and not only_records:
            self.recorder = GuestSlot(spec, space.below(RECORDER), only_records=True)
            spec = msgspec.structs.replace(spec, cpus=1)
        self._spec = spec
        self._space = space
        self._stack = contextlib.ExitStack()
        self._guest: Guest | None = None
        self._boots = 0

    @property
    def boots(self) -> int:
        """The recorder's, too."""
        return self._boots + (self.recorder.boots if self.recorder is not self else 0)

    def guest(self) -> Guest:
        """One whose process ended before it was ready is booted once more: somebody may have killed it.
        Errors: as boot."""
        if self._guest is not None and self._guest.used_up:
            self.drop()
        if self._guest is None:
            try:
                self._guest = self._boot()
            except LostGuest as lost:
                if lost.kind != "exit":
                    raise
                self._guest = self._boot()
        return self._guest

    def _boot(self) -> Guest:
        guest = self._stack.enter_context(boot(self._spec, self._space))
        self._boots += 1
        return guest

    def drop(self) -> None:
        """The guest is dead or no longer to be trusted: the next one is a new one. The recorder's as well."""
        self._guest = None
        self._stack.close()
        if self.recorder is not self:
            self.recorder.drop()

    def __enter__(self) -> "GuestSlot":
        return self

    def __exit__(self, *exception: object) -> None:
        self.drop()


@contextlib.contextmanager
def boot(spec: GuestSpec, space: Workspace, timeout_s: float = BOOT_TIMEOUT_S) -> Iterator[Guest]:
    """A guest that has said it is ready. Errors: LostGuest, OSError."""
    guest = STARTS[family(spec.kind)](spec, space)
    try:
        answer = guest.hear(timeout_s)
        assert answer == ["ready"], answer
        yield guest
    finally:
        guest.close()
