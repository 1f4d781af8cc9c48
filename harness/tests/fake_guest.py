"""
A guest without a kernel: reads the inbox and fills the outbox as the agent does, and dies as it is told. Its
devices are in our memory, so that nothing that is tested with it can reach them by a path.

In:       fates: what becomes of a request by its sequence number, one word each time it comes up.
Out:      FakeGuestSlot, to be given to Recovery; its reports tell the digest of the disk that it was asked
          about, so a test sees whether guest and log agree. MemoryDevices, of other guests that are made up.
Not here: the real one (guest.py and agent/).
"""

import contextlib
import hashlib
import json
import mmap
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.guests.guest import DISK, INBOX, INBOX_BYTES, LOG, OUTBOX, OUTBOX_BYTES, GuestTrouble, LostGuest
from harness.stages.session import (
    AUDIT_PROOF,
    BUILD_ONLY,
    FIRST_PROBE,
    FORGET_PROOFS,
    REPLY,
    REPLY_MAGIC,
    REQUEST,
    REQUEST_MAGIC,
    SECTOR,
    SLOT_BYTES,
    VERBOSE,
    WANT_CHANGES,
    WANT_COUNTERS,
    WANT_PROOFS,
    WANT_QUOTA,
    WANT_SCRUB,
    WRITE,
)
from harness.states.log import Entry, write_log
from workloads.entries import EntryFlag

CUT_OFF_BYTES = 4096  # of an answer that is "short"
CONSOLE = ("Kernel panic - not syncing: as the test wants it",)


def digest(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()[:16]


def report_on(image: bytes) -> bytes:
    """Recovery succeeded; the kernel said which disk it had."""
    return b'{"mount_errno":0,"kernel_log":["6 %s"]}' % digest(image).encode()


class MemoryDevices:
    """The part of a Guest (guests/interface.py) that is about devices. What is not written takes none."""

    def __init__(self, scratch: Path, sizes: dict[str, int]) -> None:
        self.scratch = scratch
        self.pid = 0
        self.stage = ""
        self.kernel, self.used_up = scratch / "no kernel", False
        self.held: dict[int, bytes] | None = {}
        self.told = b""
        self.devices = {name: mmap.mmap(-1, size_bytes) for name, size_bytes in sizes.items()}

    def size(self, device: str) -> int:
        return len(self.devices[device])

    def read(self, device: str, offset: int, length: int) -> bytes:
        return self.devices[device][offset : offset + length]

    def write(self, device: str, offset: int, data: bytes) -> None:
        assert offset + len(data) <= self.size(device)
        self.devices[device][offset : offset + len(data)] = data

    def load(self, device: str, image: Path) -> None:
        self.devices[device] = mmap.mmap(-1, image.stat().st_size)
        self.write(device, 0, image.read_bytes())

    def empty(self, device: str) -> None:
        self.devices[device] = mmap.mmap(-1, self.size(device))

    @contextlib.contextmanager
    def as_file(self, device: str) -> Iterator[Path]:
        """A copy with a name of its own, gone afterwards: as of a guest on another machine."""
        with tempfile.TemporaryDirectory() as folder:
            (copy := Path(folder) / "fetched").write_bytes(self.devices[device])
            yield copy

    def console(self, count: int = 80) -> tuple[str, ...]:
        return ()

    def forget_console(self) -> None:
        pass

    def close(self) -> None:
        for device in self.devices.values():
            device.close()

    def put_log(self, entries: list[Entry]) -> None:
        """What dm-log-writes leaves."""
        with tempfile.TemporaryDirectory() as folder:
            write_log(Path(folder) / "made", entries)
            self.write(LOG, 0, (Path(folder) / "made").read_bytes())


class FakeGuest(MemoryDevices):
    """Does nothing until it is listened to, like a guest that is slower than its host."""

    def __init__(self, guest_slot: "FakeGuestSlot") -> None:
        size_bytes = guest_slot.size_bytes
        log_bytes = size_bytes + (1 << 20)
        super().__init__(
            guest_slot.folder,
            {DISK: size_bytes, LOG: log_bytes, INBOX: INBOX_BYTES, OUTBOX: OUTBOX_BYTES},
        )
        self._guest_slot = guest_slot
        self._disk = bytearray(guest_slot.size_bytes)
        self._todo: deque[Callable[[], list[str]]] = deque()
        self._inboxes: deque[tuple[int, int]] = deque()  # the inbox is read when it is this request's turn
        self._alive = True

    def say(self, command: str) -> None:
        if not self._alive:
            raise LostGuest("exit", CONSOLE, "it does not listen")
        word, *words = command.split()
        if word == "clear":
            self._todo.append(self._clear)
            return
        if word in ("recovery", "afterwards"):
            self._todo.append(self._recovery if word == "recovery" else self._afterwards)
            return
        assert word == "check"
        offset, size_bytes = int(words[0]), int(words[1])
        assert int(words[2]) * SECTOR == self._guest_slot.size_bytes
        self._inboxes.append((offset, size_bytes))

    def _take(self, inbox: bytes) -> None:
        at = 0
        while at < len(inbox):
            magic, sequence, flags, count, place, place_bytes, _, lost = REQUEST.unpack_from(inbox, at)
            assert (magic, place_bytes) == (REQUEST_MAGIC, SLOT_BYTES)
            head = at + REQUEST.size
            at = head + count * WRITE.size
            at += -at % SECTOR
            writes = []
            for number in range(count):
                offset, length, zero = WRITE.unpack_from(inbox, head + number * WRITE.size)
                writes.append((offset, bytes(length) if zero else inbox[at : at + length]))
                at += 0 if zero else length
            if flags & WANT_QUOTA:
                self._guest_slot.counted.append(sequence)
            if flags & WANT_SCRUB:
                self._guest_slot.scrubbed.append((sequence, lost))
            self._todo.append(lambda a=(sequence, flags, place, writes): self._do(*a))

    def hear(self, timeout_s: float = 0.0) -> list[str]:
        if not self._alive:
            raise LostGuest("exit", CONSOLE, "its process ended")
        while not self._todo and self._inboxes:
            self._take(self.read(INBOX, *self._inboxes.popleft()))
        if not self._todo:
            raise LostGuest("hang", (), "nothing was asked that is not answered")
        return self._todo.popleft()()

    def ask(self, command: str, timeout_s: float = 0.0) -> list[str]:
        self.say(command)
        return self.hear()

    def _clear(self) -> list[str]:
        self._disk = bytearray(self._guest_slot.size_bytes)
        return ["cleared"]

    def _afterwards(self) -> list[str]:
        """The same, with one step behind it."""
        report = report_on(self.devices[DISK])[:-1] + b',"tree":[],"use":{"steps":[]}}'
        self._recovery()
        self.write(OUTBOX, 0, report)
        return ["report", str(len(report))]

    def _recovery(self) -> list[str]:
        """It writes the digest of the disk into its last sector, and leaves it there. No two are alike: a
        mark says the digest, too."""
        image = self.devices[DISK]
        if self._guest_slot.next_fate(-2) == "panic":
            self._alive = False
            raise LostGuest("panic", CONSOLE, "as the test wants it")
        found = digest(image)
        written = found.encode().ljust(SECTOR, b"!")
        image[-SECTOR:] = written
        last = len(image) // SECTOR - 1
        texts = (found, "mounted", "after-1", "after", "dm-log-writes-end")
        marks = [Entry(0, 0, EntryFlag.MARK, b"", text) for text in texts]
        self.put_log([Entry(last, 1, EntryFlag.FUA, written), *marks])
        return ["recovery", "0"]

    def _do(self, sequence: int, flags: int, place: int, writes: list[tuple[int, bytes]]) -> list[str]:
        for offset, content in writes:
            self._disk[offset : offset + len(content)] = content
        if flags & BUILD_ONLY:
            return ["built"]
        self._guest_slot.asked.append(sequence)
        if flags & FIRST_PROBE:
            self._guest_slot.used.append(sequence)
        fate = self._guest_slot.next_fate(sequence)
        if fate in ("panic", "hang", "exit"):
            self._alive = False
            stage = "mount" if flags & VERBOSE else ""
            raise LostGuest(fate, CONSOLE if fate == "panic" else (), "as the test wants it", stage)
        if fate == "trouble":
            raise GuestTrouble("recover: ENOMEM")
        earlier = self._guest_slot.proves.get(sequence, -1) if flags & WANT_PROOFS else -1
        if flags & FORGET_PROOFS:
            self._guest_slot.forgot.append(sequence)
        if earlier >= 0 and not flags & AUDIT_PROOF:
            return ["proven", str(sequence), str(earlier)]
        report = b"{not json" if fate == "garbage" else report_on(self._disk)
        if fate == "otherwise":
            report = report[:-1] + b',"probe":["unlink A: EIO"]}'
        if fate == "busy":
            report = report[:-1] + b',"umount_errno":16,"used_up":true}'
            self._alive = False  # it says that an unmount failed, and ends
        changes = self._guest_slot.changes if flags & WANT_CHANGES else {}
        counters = b"counted %d" % sequence if flags & WANT_COUNTERS else b""
        return self._answer(
            sequence, place, report, changes, CUT_OFF_BYTES if fate == "short" else 0, counters, earlier
        )

    def _answer(
        self,
        sequence: int,
        place: int,
        report: bytes,
        changes: dict[int, bytes],
        cut_off: int = 0,
        counters: bytes = b"",
        earlier: int = -1,
    ) -> list[str]:
        proof = (1, earlier) if earlier >= 0 else (0, 0)
        lengths = len(report), len(changes), len(counters)
        head = REPLY.pack(REPLY_MAGIC, sequence, *lengths, *proof, 0) + report
        head += b"".join(number.to_bytes(8, "little") for number in changes)
        answer = head + bytes(-len(head) % 4096) + b"".join(changes.values()) + counters
        answer = answer[: len(answer) - cut_off]
        self.write(OUTBOX, place, answer)
        return ["done", str(sequence), str(len(answer))]


class FakeGuestSlot:
    """fates: by sequence. changes: the blocks that every recovery changes, by number. proves: by sequence,
    that of the earlier one that proves it."""

    def __init__(
        self,
        folder: Path,
        size_bytes: int,
        fates: dict[int, list[str]] | None = None,
        changes: dict[int, bytes] | None = None,
        proves: dict[int, int] | None = None,
    ) -> None:
        self.recorder = self
        self.proves = proves or {}
        self.forgot: list[int] = []  # of the requests with FORGET_PROOFS
        self.folder = folder
        self.size_bytes = size_bytes
        self.changes = changes or {}
        self._fates = fates or {}
        self._guest: FakeGuest | None = None
        self.boots = 0
        self.asked: list[int] = []
        self.used: list[int] = []  # those whose first mount was to be put to use
        self.scrubbed: list[tuple[int, int]] = []  # and which device is taken away
        self.counted: list[int] = []  # of what users have

    def next_fate(self, sequence: int) -> str:
        left = self._fates.get(sequence)
        return left.pop(0) if left else "normal"

    def guest(self) -> FakeGuest:
        if self._guest is None:
            if self.next_fate(-1) == "no boot":
                raise LostGuest("hang", (), "no answer in 20 s")
            self._guest = FakeGuest(self)
            self.boots += 1
        return self._guest

    def drop(self) -> None:
        self._guest = None


def told(observation: bytes) -> str:
    """The digest of the disk that was recovered."""
    return str(json.loads(observation)["kernel_log"][0][2:])
