"""
A guest that only records: it leaves a log as a kernel would, and says what the agent would.

In:       the log and the report that it is to leave; how its recordings end.
Out:      Recorder, to be given to record(); DyingGuestSlot, to be given to record_in().
Not here: the real one (guest.py and agent/), guests that recover (fake_guest.py).
"""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.guests.guest import LostGuest
from harness.stages.record import Recording, record
from harness.states.disk import BLOCK_BYTES
from harness.states.log import Entry
from harness.tests.fake_guest import MemoryDevices
from oracles.profiles import profile
from reports.results import Device
from workloads.entries import EntryFlag
from workloads.text import parse

SIZE_BYTES = 64 * BLOCK_BYTES
PROFILE = msgspec.structs.replace(profile("btrfs-single"), size_bytes=SIZE_BYTES)
WORKLOAD = parse("setup\n  mkdir A\nrun\n  creat A/foo\n  fsync A/foo\n")


def mark(text: str) -> Entry:
    return Entry(0, 0, EntryFlag.MARK, mark=text)


def written(sector: int, letter: bytes) -> Entry:
    return Entry(sector, 1, 0, letter * 512)


LOG = (
    *(mark("begin-0"), written(0, b"s"), mark("done-0"), written(8, b"S"), mark("run")),
    *(mark("begin-1"), mark("done-1"), mark("begin-2"), written(0, b"r"), Entry(0, 0, EntryFlag.FLUSH)),
    *(mark("done-2"), mark("end"), written(16, b"e"), mark("dm-log-writes-end")),
)
REPORT = {
    "mount_errno": 0,
    "root_inode": 256,
    "device": {"write_cache": "write back", "fua": "0"},
    "steps": [{"index": n, "result": 0, "inode": 257 + n, "blocks": 0, "left": 0} for n in range(3)],
    "kernel_log": ["6 BTRFS info: all is well"],
}


LEFT_OVER = b"left over" * 9000


class Recorder(MemoryDevices):
    """Answers `record` with this log and report."""

    def __init__(self, folder: Path, log: tuple[Entry, ...] = LOG, **instead: object) -> None:
        super().__init__(folder, dict.fromkeys(("disk", "log", "inbox", "outbox"), len(LEFT_OVER)))
        for name in self.devices:
            self.write(name, 0, LEFT_OVER)
        self.log = log
        self.report = json.dumps({**REPORT, **instead}).encode()
        (folder / "pristine").write_bytes(b"p" * BLOCK_BYTES + bytes(SIZE_BYTES - BLOCK_BYTES))

    def ask(self, command: str, timeout_s: float) -> list[str]:
        *self.request, size_bytes = command.split()
        assert self.request[0] in ("record", "late")
        self.program = self.read("inbox", 0, int(size_bytes)).decode()
        self.disk = self.devices["disk"][:]
        self.log_was_empty = not self.devices["log"][:].strip(b"\0")
        self.put_log(self.log)
        self.write("outbox", 0, self.report)
        return ["report", str(len(self.report))]

    def record(self, device: Device = Device()) -> Recording:  # noqa: B008  frozen
        return record(self, PROFILE, WORKLOAD, self.scratch / "pristine", "6.12", device=device)


# --- a guest that dies while it records --------------------------------------------------------------

STARVED = "starved"  # how a guest ends whose memory found no room
DyingFate = tuple[str, str, tuple[str, ...]]


class DyingGuestSlot:
    """Guests that record; each recording ends as the next of the fates says: how, in which stage, and with
    what on the console. When there are none left, recordings succeed. report: as Recorder's `instead`."""

    def __init__(self, folder: Path, fates: Sequence[DyingFate] = (), **report: object) -> None:
        self.folder = folder
        self.recorder = self
        self.boots = 0
        self._fates = list(fates)
        self._report = report
        self._guest: DyingGuest | None = None

    def guest(self) -> "DyingGuest":
        if self._guest is None or self._guest.used_up:
            self._guest = DyingGuest(self.folder, self._fates, self._report)
            self.boots += 1
        return self._guest

    def drop(self) -> None:
        self._guest = None


class DyingGuest(Recorder):
    def __init__(self, folder: Path, fates: list[DyingFate], report: dict[str, object]) -> None:
        super().__init__(folder, **report)
        self._fates = fates
        self._said: tuple[str, ...] = ()

    def console(self, count: int = 80) -> tuple[str, ...]:
        return self._said

    def ask(self, command: str, timeout_s: float) -> list[str]:
        if not self._fates:
            return super().ask(command, timeout_s)
        kind, stage, self._said = self._fates.pop(0)
        starved = kind == STARVED
        raise LostGuest("exit" if starved else kind, self._said, "as the test wants it", stage, starved)
