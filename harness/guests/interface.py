"""
What a guest is: a running kernel that obeys us, wherever it runs.

In:       nothing.
Out:      Guest, the one interface to it; LostGuest and GuestTrouble: how it ends, and what it cannot do.
Not here: starting one (guest.py), the kinds (local.py with uml.py and qemu.py), what the commands mean
          (stages/record.py, stages/session.py), the agent itself (agent/*.c).

A guest has our agent as its only process, and the block devices that its GuestSpec names: "disk", "log",
"inbox" and "outbox" (spec.py). They are reached by name, offset and length alone. No code outside this folder
knows a path of them, for a guest on another machine has none here; harness/tests/guests/test_seam.py holds
this. A new kind is a function that starts it (guest.STARTS) and a class with the methods of Guest.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

ANSWER_TIMEOUT_S = 30.0
CONSOLE_LINES = 80


class LostGuest(Exception):
    """The guest gave no answer any more.

    kind: "panic" (its kernel said so on the console), "hang" (no answer in time) or "exit".
    stage: the last stage the agent announced, "" when it announced none.
    starved: its memory or its disks found no room on the host, so what its kernel said counts for nothing.
    """

    starved = False

    def __init__(
        self, kind: str, console: tuple[str, ...], detail: str, stage: str = "", starved: bool = False
    ) -> None:
        last = console[-1] if console else "(console empty)"
        super().__init__(f"guest lost ({kind}): {detail}; console: {last}")
        self.kind = kind
        self.console = console
        self.stage = stage
        self.starved = starved


class GuestTrouble(Exception):
    """The agent could not do its part; not the filesystem's fault."""


class Guest(Protocol):
    """
    A guest that was started. It dies by itself, which say() and hear() report as LostGuest, or by close().

    stage:   the last stage that the agent announced.
    scratch: a folder of this machine, in memory, for what is made of what the guest left. It outlives the
             guest.
    kernel:  the program of its kernel on this machine, for its symbols.
    used_up: its kernel is not what it was, and the next experiment has to have a new guest.
    pid:     its process on this machine, whose group has all of its processes; 0 when it runs elsewhere.
    held, told: notes of session.Session, which go with the guest: the blocks of the disk whose states it
             recovers, all others being zero, None when they are not known; the last report that came by the
             line.
    """

    stage: str
    scratch: Path
    kernel: Path
    used_up: bool
    pid: int
    held: dict[int, bytes] | None
    told: bytes

    def say(self, command: str) -> None:
        """A line to the agent. Errors: LostGuest."""

    def hear(self, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """The next answer, two words and the rest. timeout_s: for UML; other kinds get their own measure
        (spec.py). Errors: LostGuest; GuestTrouble, as the agent said."""

    def ask(self, command: str, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """say() and hear()."""

    def size(self, device: str) -> int:
        """Bytes of a device."""

    def read(self, device: str, offset: int, length: int) -> bytes:
        """Bytes of a device; fewer than asked for at its end."""

    def write(self, device: str, offset: int, data: bytes) -> None:
        """All of data to a device, which the guest sees from its next command on. Errors: OSError."""

    def load(self, device: str, image: Path) -> None:
        """Make a device hold what a file of this machine holds, whose holes are zeros. Errors: OSError."""

    def empty(self, device: str) -> None:
        """Make a device zeros."""

    def as_file(self, device: str) -> AbstractContextManager[Path]:
        """A file of this machine with what a device holds now, to be read within the block."""

    def console(self, count: int = CONSOLE_LINES) -> tuple[str, ...]:
        """The last lines of its kernel's console, no more than count."""

    def forget_console(self) -> None:
        """What console() tells from here on was said from here on."""

    def close(self) -> None:
        """Kill it with all its processes, and wait until they are gone."""


def answer(guest: Guest, line: bytes) -> list[str] | None:
    """The words of a line of the agent, two and the rest; None for a stage, which the guest keeps.
    Errors: GuestTrouble."""
    words = line.decode("latin-1").split(maxsplit=2)
    if words[:1] == ["stage"]:
        guest.stage = " ".join(words[1:])
        return None
    if words[:1] == ["trouble"]:
        raise GuestTrouble(" ".join(words[1:]))
    return words
