"""
A guest that holds the disk of one state, and what is said to it and by it.

In:       a booted guest, a profile; requests, each with the writes since the one before.
Out:      Answer after Answer, as the agent tells them (agent/agent.c).
Not here: which states are asked for, what becomes of a guest that dies, the checker (recover.py).

The inbox has two halves: the guest reads one while the other is filled.
"""

import struct
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from mmap import mmap
from typing import NamedTuple

import msgspec

from harness.guests.guest import INBOX, INBOX_BYTES, OUTBOX, OUTBOX_BYTES, Guest, GuestTrouble
from harness.stages.proofs import NO_READAHEAD
from harness.states.disk import BLOCK_BYTES, RUN_BYTES, ZERO_BLOCK, DiskWrite
from oracles.profiles import Profile
from oracles.spec import GONE, State
from workloads.history import History

REQUEST = struct.Struct("<IIIIQQQQ")  # agent/agent.c: struct request
WRITE = struct.Struct("<QII")
REPLY = struct.Struct("<IIIIIIII")
REQUEST_MAGIC = 0x50435251
REPLY_MAGIC = 0x50435250
WANT_CHANGES, VERBOSE, BUILD_ONLY, WANT_FLAGS, FIRST_PROBE, WANT_EXTENTS, WANT_TIMES = 1, 2, 4, 8, 16, 32, 64
WANT_READS = 128
WANT_DIRECTORY_TIMES = 256
WANT_HASHES = 512
READ_ONLY_FIRST = 1024
WANT_ATTRIBUTE_HASHES = 2048
WANT_COUNTERS = 4096
WANT_PROOFS = 8192
FORGET_PROOFS = 16384
WITHOUT_READAHEAD = 32768
AUDIT_PROOF = 65536
BLOCK_FAILS = {"read": 131072, "write": 262144}  # by Damage.fails
WANT_EMPTY_ROOM = 524288
WANT_SCRUB = 1048576
WANT_QUOTA = 2097152
NO_DEVICE = (1 << 64) - 1
PART_SHIFT = 56  # agent/agent.h: CHANGED_SECTORS_SHIFT
BLOCK_MASK = (1 << PART_SHIFT) - 1
# The words after which the walk tells inode flags, extents, times.
ASKED_AFTER = {
    WANT_FLAGS: {"chattr", "verity"},
    WANT_EXTENTS: {"fallocate"},
    WANT_TIMES: {"fsync"},
}
SECTOR = 512
BATCH_STATES = 8
SLOTS = 2 * BATCH_STATES
SLOT_BYTES = OUTBOX_BYTES // SLOTS
HALVES = 2
HALF_BYTES = INBOX_BYTES // HALVES
# The agent reads a batch into 16 MiB; the rest of a half is for the requests' own headers.
BATCH_BYTES = 8 << 20
WITH_FIRST_BYTES = 4 << 20
HELD_BYTES = 16 << 20
# How the agent's report begins when recovery succeeded: only then is there something to check.
MOUNTED = b'{"mount_errno":0,'
# How it ends when an unmount failed (agent/recover.c): the guest can recover no other state.
USED_UP = b',"used_up":true}'


class Request(msgspec.Struct, frozen=True):
    """One state on its way: the writes since the state before it.

    committed: its last write was one with FUA, a superblock or a journal's commit, or one that a FLUSH
    follows, the nodes of an fsync of f2fs. Then the mount that replays is put to use before it ends, which
    costs 0.7 ms of 2.9 on btrfs: too much for every state, and a log that was just committed is where replay
    has most to do.
    damaged: of Rebuilding.
    audit: recover it though it is proven.
    """

    state: State
    sequence: int
    writes: tuple[DiskWrite, ...]
    committed: bool = False
    damaged: tuple[int, bytes] | None = None
    audit: bool = False


def pack(
    writes: Iterable[DiskWrite], sequence: int, flags: int, slot: int, failing: int = 0, lost: int = NO_DEVICE
) -> bytes:
    """A request as the agent reads it. failing: the block, where one of BLOCK_FAILS is among the flags. lost:
    the device that is taken away behind WANT_SCRUB."""
    writes = tuple(writes)
    place = slot * SLOT_BYTES
    head = REQUEST.pack(REQUEST_MAGIC, sequence, flags, len(writes), place, SLOT_BYTES, failing, lost)
    head += b"".join(WRITE.pack(write.offset, write.length, int(write.data is None)) for write in writes)
    body = b"".join(write.data for write in writes if write.data is not None)
    return head + bytes(-len(head) % SECTOR) + body


def without(state: State, count: int) -> int:
    """Of so many devices the one to do without when all is mended: then what is left is alone with one that
    was not as the others. NO_DEVICE where one is gone already. Of four, btrfs keeps the same on a pair, one
    after the other."""
    differing = dict(state.members)
    if GONE in differing.values():
        return NO_DEVICE
    whole = [device for device in range(count) if device not in differing]
    pairs = [device for device in whole if device ^ 1 in differing]
    return next(iter((*pairs, *whole)), NO_DEVICE)


def block_writes(image: mmap, blocks: Iterable[int]) -> Iterator[DiskWrite]:
    """Writes that give these blocks, in ascending order, the content they have in this image:
    neighbours in one write, for each is a system call of the guest."""
    for start, stop in _runs(blocks):
        content = image[start * BLOCK_BYTES : stop * BLOCK_BYTES]
        yield DiskWrite(start * BLOCK_BYTES, len(content), content)


def _runs(blocks: Iterable[int]) -> Iterator[tuple[int, int]]:
    start = stop = 0
    for block in blocks:
        if block != stop or (stop - start) * BLOCK_BYTES >= RUN_BYTES:
            if start < stop:
                yield start, stop
            start = block
        stop = block + 1
    if start < stop:
        yield start, stop


def whole_runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where runs of neighbouring blocks stand in an answer, from the first to before the last: XFS changes
    400 blocks, most of them of its log. A block that was changed in part stands alone."""
    first = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1 or numbers[at] >> PART_SHIFT:
            yield first, at
            first = at


def in_chunks(writes: Iterable[DiskWrite]) -> Iterator[list[DiskWrite]]:
    """Lists of writes that the agent's buffer holds."""
    chunk: list[DiskWrite] = []
    size_bytes = 0
    for write in writes:
        chunk.append(write)
        size_bytes += write.length
        if size_bytes >= BATCH_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
    yield chunk


def held(blocks: dict[int, bytes]) -> dict[int, bytes] | None:
    """What is remembered of the disk that a guest holds; None, that is nothing, when it is much."""
    return blocks if len(blocks) * BLOCK_BYTES <= HELD_BYTES else None


class Answer(NamedTuple):
    """The agent's report; the blocks that recovery changed, where they were asked for; the counters of a
    kernel that has them, as agent/counters.c tells them, where they were asked for. earlier: the sequence of
    the recovery that proves this one, -1 for none; without a report the state was not recovered itself.
    parts: by block, of those that recovery changed in part only, which sectors, a bit each."""

    report: bytes
    changes: tuple[DiskWrite, ...] = ()
    counters: bytes = b""
    earlier: int = -1
    parts: Mapping[int, int] = {}


class Session:
    """A guest that holds the disk of one state and recovers states asked for."""

    def __init__(self, guest: Guest, profile: Profile, with_fsck: bool, asks: int = 0) -> None:
        self.guest = guest
        self._profile = profile
        self._flags = (WANT_CHANGES if with_fsck else 0) | asks
        self._forget = FORGET_PROOFS  # with what is sent first
        if asks & WANT_PROOFS and profile.filesystem in NO_READAHEAD:
            self._flags |= WITHOUT_READAHEAD
        self._flags |= READ_ONLY_FIRST if profile.read_only_first else 0
        self._flags |= WANT_QUOTA if profile.quota else 0
        self._half = 0
        self._first: list[DiskWrite] = []  # of load(): it goes with the first request, which spares a wait
        self._under_way: deque[int] = (
            deque()
        )  # of each batch that was sent, its last request without an answer

    def load(self, blocks: dict[int, bytes]) -> None:
        """Make the guest's disk have these blocks, and zeros elsewhere: only what differs from what it holds
        since the log before is sent. Errors: LostGuest, GuestTrouble."""
        held, self.guest.held = self.guest.held, None
        if held is None:
            self.guest.ask("clear", timeout_s=60)
            held = {}
        differing = [
            block
            for block in sorted(blocks.keys() | held.keys())
            if blocks.get(block, ZERO_BLOCK) != held.get(block, ZERO_BLOCK)
        ]
        writes = (
            DiskWrite(
                start * BLOCK_BYTES,
                (stop - start) * BLOCK_BYTES,
                b"".join(blocks.get(block, ZERO_BLOCK) for block in range(start, stop)),
            )
            for start, stop in _runs(differing)
        )
        *chunks, last = in_chunks(writes)
        for chunk in chunks:
            self.build(chunk)
        if sum(write.length for write in last) > WITH_FIRST_BYTES:
            self.build(last)
            last = []
        self._first = last

    def flush(self) -> None:
        """Send what load() keeps back. Errors: LostGuest, GuestTrouble."""
        if first := self._first:
            self._first = []
            self.build(first)

    def build(self, writes: list[DiskWrite]) -> None:
        """Bring the guest's disk forward without recovering it, and wait for it: the inbox has two halves,
        and this one is used again next but one. Errors: LostGuest, GuestTrouble."""
        self._send([pack(writes, 0, BUILD_ONLY | self._once(), 0)])
        words = self.guest.hear(timeout_s=60)
        if words != ["built"]:
            raise GuestTrouble(f"expected built, got {words}")

    def _once(self) -> int:
        forget, self._forget = self._forget, 0
        return forget

    @property
    def has_room(self) -> bool:
        """Whether the inbox has a half that the guest has read."""
        return len(self._under_way) < HALVES

    def send(self, requests: list[Request], verbose: bool = False) -> None:
        """Ask for the recovery of these states, in order; only while it has room. Errors: LostGuest."""
        assert self.has_room
        self._under_way.append(requests[-1].sequence)
        flags = self._flags | (VERBOSE if verbose else 0)
        first, self._first = self._first, []
        packed = []
        for request in requests:
            slot = request.sequence % SLOTS
            use = FIRST_PROBE if request.committed else 0
            use |= AUDIT_PROOF if request.audit else 0
            use |= self._once()
            damage = request.state.damage
            use |= BLOCK_FAILS.get(damage.fails, 0) if damage else 0
            failing = damage.block if damage else 0
            scrubs = self._profile.redundant and request.state.members
            use |= WANT_SCRUB if scrubs else 0
            lost = without(request.state, len(self._profile.devices)) if scrubs else NO_DEVICE
            packed.append(pack([*first, *request.writes], request.sequence, flags | use, slot, failing, lost))
            first = []
        self._send(packed)

    def _send(self, packed: list[bytes]) -> None:
        body = b"".join(packed)
        assert len(body) <= HALF_BYTES
        offset = self._half * HALF_BYTES
        self._half = 1 - self._half
        self.guest.write(INBOX, offset, body)
        profile = self._profile
        options = profile.agent_options or "-"
        self.guest.say(
            f"check {offset} {len(body)} {profile.size_bytes // SECTOR} {profile.filesystem} {options}"
        )

    def receive(self, request: Request) -> "Answer":
        """Errors: LostGuest, GuestTrouble."""
        words = self.guest.hear()
        if words[1:2] != [str(request.sequence)] or words[0] not in ("told", "same", "done", "proven"):
            raise GuestTrouble(f"expected the answer {request.sequence}, got {words}")
        if request.sequence == self._under_way[0]:
            self._under_way.popleft()
        if words[0] == "proven":
            return Answer(b"", earlier=int(words[2]))
        if words[0] == "told":
            self.guest.told = words[2].encode("latin-1")
        if words[0] != "done":
            return Answer(self.guest.told)
        raw = self.guest.read(OUTBOX, request.sequence % SLOTS * SLOT_BYTES, int(words[2]))
        if len(raw) < REPLY.size:
            raise GuestTrouble(f"answer {request.sequence} in the outbox has {len(raw)} bytes")
        magic, sequence, report_bytes, change_count, counter_bytes, proven, earlier, _ = REPLY.unpack_from(
            raw
        )
        if magic != REPLY_MAGIC or sequence != request.sequence:
            raise GuestTrouble(f"the outbox has no answer {request.sequence}")
        report = raw[REPLY.size : REPLY.size + report_bytes]
        numbers_end = REPLY.size + report_bytes + 8 * change_count
        start = numbers_end + -numbers_end % BLOCK_BYTES
        end = start + change_count * BLOCK_BYTES
        if len(raw) != end + counter_bytes:
            raise GuestTrouble(
                f"answer {sequence} in the outbox has {len(raw)} bytes: too few for a report of "
                f"{report_bytes} bytes and {change_count} changed blocks"
                if len(raw) < end + counter_bytes
                else f"answer {sequence} in the outbox has {len(raw)} bytes: more than it names"
            )
        numbers = struct.unpack(f"<{change_count}Q", raw[REPLY.size + report_bytes : numbers_end])
        parts = {number & BLOCK_MASK: number >> PART_SHIFT for number in numbers if number >> PART_SHIFT}
        changes = tuple(
            DiskWrite((numbers[first] & BLOCK_MASK) * BLOCK_BYTES, (stop - first) * BLOCK_BYTES, content)
            for first, stop in whole_runs(numbers)
            for content in [raw[start + first * BLOCK_BYTES : start + stop * BLOCK_BYTES]]
        )
        return Answer(report, changes, raw[end:], earlier if proven else -1, parts)


def walk_flags(history: History) -> int:
    """What its walk must tell beyond the usual, each at one more call an object or a longer report. Where
    nobody knows what was written, contents and attributes are only compared with each other: hashes do, and
    are short."""
    program = history.workload.program
    compared = not history.known or (program is not None and not program.content)
    hashes = WANT_HASHES if compared else 0
    hashes |= 0 if history.known else WANT_ATTRIBUTE_HASHES
    return hashes | walk_flags_of_words(step.operation.word for step in (*history.setup, *history.run))


def walk_flags_of_words(words: Iterable[str]) -> int:
    """The same of a workload that has not been run."""
    done = set(words)
    return sum(flag for flag, asking in ASKED_AFTER.items() if done & asking)


def split_requests(requests: list[Request]) -> Iterator[list[Request]]:
    """Batches that fit the agent's buffer."""
    batch: list[Request] = []
    size_bytes = 0
    for request in requests:
        own = sum(write.length for write in request.writes) + SECTOR * (2 + len(request.writes) // 16)
        if batch and (size_bytes + own > BATCH_BYTES or len(batch) == BATCH_STATES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(request)
        size_bytes += own
    if batch:
        yield batch
