"""
Bring a disk from one state of a log to the next.

In:       a base image, its log, the logs of recoveries; State after State.
Out:      Rebuilding: the disk as that state left it, and which blocks changed on the way there.
Not here: which states there are (crash.py and the models' files), recovery (recover.py).

Prefixes go forward entry by entry. The states of one window differ in few writes, so between two of them only
the blocks of these writes are made anew, from the window's first bytes and its writes in order: a state with
three of a thousand writes lost costs three. Going back to an earlier window starts again from the base.
"""

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from harness.states.crash import window_start
from harness.states.disk import BLOCK_BYTES, Disk, DiskWrite, private_disk, writes_of
from harness.states.log import SECTOR_BYTES, Entry, Log, open_log
from harness.states.members import absent
from harness.states.nested import file_name
from oracles.spec import State
from workloads.entries import EntryFlag

ENTRIES_HELD = 16  # of the log, with their data: neighbouring blocks need the same


class Window:
    """The writes from `start` on that a state may lack: which blocks they touch, and what stood there."""

    def __init__(self, start: int, log: Log, entry: Callable[[int], Entry]) -> None:
        """entry: log.entry(), which may remember."""
        self.start = start
        self.prefix = start  # of the state that the disk shows
        self.lost: frozenset[int] = frozenset()
        self.torn = -1
        self.sectors = 0
        self._log = log
        self._indexed = start
        self._touching: dict[int, list[int]] = defaultdict(list)
        self._discards: list[int] = []
        self._before: dict[int, bytes] = {}
        self._entry = entry

    @property
    def is_whole(self) -> bool:
        return not self.lost and self.torn < 0

    def move(self, disk: Disk, prefix: int, lost: Iterable[int], torn: int, sectors: int) -> Iterator[int]:
        """Show another state of this window; the blocks that changed."""
        self._index(prefix)
        old = self.prefix, self.lost, (self.torn, self.sectors)
        self.prefix, self.lost, self.torn, self.sectors = prefix, frozenset(lost), torn, sectors
        differing = set(range(*sorted((old[0], prefix)))) | (old[1] ^ self.lost)
        if old[2] != (torn, sectors):
            differing |= {old[2][0], torn} - {-1}
        blocks: set[int] = set()
        for index in differing:
            blocks.update(self._blocks(disk, index))
        for block in sorted(blocks):
            content = self._content(disk, block)
            if content != disk.block(block):
                disk.apply(DiskWrite(block * BLOCK_BYTES, len(content), content))
                yield block

    def _index(self, prefix: int) -> None:
        for index in range(self._indexed, prefix):
            entry = self._log.summary(index)
            if entry.flags & EntryFlag.MARK or not entry.sector_count:
                continue
            if entry.flags & EntryFlag.DISCARD:
                self._discards.append(index)
                continue
            for block in _block_range(entry.sector, entry.sector_count):
                self._touching[block].append(index)
        self._indexed = max(self._indexed, prefix)

    def _blocks(self, disk: Disk, index: int) -> Iterable[int]:
        entry = self._log.summary(index)
        if entry.flags & EntryFlag.MARK or not entry.sector_count:
            return ()
        touched = _block_range(entry.sector, entry.sector_count)
        if not entry.flags & EntryFlag.DISCARD:
            return touched
        start = entry.sector * SECTOR_BYTES
        there = disk.blocks_between(start, start + entry.sector_count * SECTOR_BYTES)
        return {block for block in (*self._touching, *self._before) if block in touched}.union(there)

    def _content(self, disk: Disk, block: int) -> bytes:
        before = self._before.get(block)
        if before is None:
            before = self._before[block] = disk.block(block)
        content = bytearray(before)
        first = block * BLOCK_BYTES
        for index in sorted([*self._touching.get(block, ()), *self._discards]):
            if index >= self.prefix or index in self.lost:
                continue
            entry = self._entry(index)
            size_bytes = (self.sectors if index == self.torn else entry.sector_count) * SECTOR_BYTES
            start = entry.sector * SECTOR_BYTES
            low, high = max(first, start), min(first + len(content), start + size_bytes)
            if low < high:
                is_discard = entry.flags & EntryFlag.DISCARD
                part = bytes(high - low) if is_discard else entry.data[low - start : high - start]
                content[low - first : high - first] = part
        return bytes(content)


def _block_range(sector: int, sector_count: int) -> range:
    start, stop = sector * SECTOR_BYTES, (sector + sector_count) * SECTOR_BYTES
    return range(start // BLOCK_BYTES, (stop + BLOCK_BYTES - 1) // BLOCK_BYTES)


class Rebuilding:
    """
    disk:      of the state moved to last.
    dirty:     blocks that changed since whoever reads it cleared it.
    damaged:   block and content of what is damaged in the state moved to last, as it was; None where nothing
               is, or a block only fails.
    """

    def __init__(self, base: Path, log: Log, recoveries: Path | None = None) -> None:
        self._base = base
        self._log = log
        self._recoveries = recoveries
        self._stack = contextlib.ExitStack()
        self.disk = self._stack.enter_context(private_disk(base))
        self.dirty: set[int] = set()
        self.damaged: tuple[int, bytes] | None = None
        self._absent: list[tuple[int, bytes]] = []  # blocks of devices that are gone, as they were
        self._entry: Callable[[int], Entry] = functools.lru_cache(ENTRIES_HELD)(log.entry)
        self._window = Window(0, log, self._entry)
        self._start_of = (0, 0)  # a prefix, and where its window starts
        self._nested: State | None = None  # what the disk shows of a recovery
        self._before_nested: dict[int, bytes] = {}

    def __enter__(self) -> "Rebuilding":
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def committed(self) -> bool:
        """Whether a sync ended with the last write of the disk (session.Request): nothing of it is missing,
        and it has FUA, or the next entry behind it but marks is a FLUSH for its own sake. That of a write
        with FUA is an entry, too, and has both flags. All prefixes with one disk agree."""
        behind = self._window.prefix
        while behind and not self._log.summary(behind - 1).sector_count:
            behind -= 1
        if not self._window.is_whole or not behind:
            return False
        if self._log.summary(behind - 1).flags & EntryFlag.FUA:
            return True
        rest = (self._log.summary(at).flags for at in range(behind, len(self._log)))
        flags = next((one for one in rest if not one & EntryFlag.MARK), 0)
        return flags & (EntryFlag.FLUSH | EntryFlag.FUA) == EntryFlag.FLUSH

    def move(self, state: State) -> None:
        """Errors: BadEntry, BadLog."""
        if self.damaged is not None:
            self._put(*self.damaged)
            self.damaged = None
        while self._absent:
            self._put(*self._absent.pop())
        self._move(state.undamaged)
        if state.members and self._log.devices is not None:
            for block in absent(state, self._log.devices):
                self._absent.append((block, self.disk.block(block)))
                self._put(block, bytes(BLOCK_BYTES))
        if state.damage is not None and not state.damage.fails:
            block = state.damage.block
            self.damaged = block, self.disk.block(block)
            self._put(block, state.damage.of(self.disk.block(block)))

    def _put(self, block: int, content: bytes) -> None:
        self._note(self.disk.apply(DiskWrite(block * BLOCK_BYTES, len(content), content)))

    def _move(self, state: State) -> None:
        if self._nested is not None and not self._nested.is_before(state):
            self._leave_nested()
        if self._nested is None:
            self._move_to(state.outer)
        if state.nested > 0:
            self._nest(state)

    def _move_to(self, state: State) -> None:
        whole = not state.lost and state.torn < 0
        start = state.prefix if whole else min(self._window_start(state.prefix), state.whole)
        window = self._window
        if whole or start != window.start:
            if not window.is_whole:
                self._note(window.move(self.disk, window.prefix, (), -1, 0))
            if start < window.prefix:
                self._start_again()
            self._forward(start)
            window = self._window
        if not whole:
            self._note(window.move(self.disk, state.prefix, state.lost, state.torn, state.sectors))

    def _forward(self, prefix: int) -> None:
        """From the whole prefix that the disk shows."""
        for entry in self._log.entries(self._window.prefix, prefix):
            for write in writes_of(entry):
                self._note(self.disk.apply(write))
        if prefix != self._window.start:
            self._window = Window(prefix, self._log, self._entry)

    def _window_start(self, prefix: int) -> int:
        """As crash.window_start(), without looking at what was looked at for the state before."""
        known, start = self._start_of
        if prefix >= known:
            found = window_start(self._log, prefix, known)
            start = start if found is None else found
        else:
            start = window_start(self._log, prefix) or 0
        self._start_of = prefix, start
        return start

    def _start_again(self) -> None:
        old = self.disk
        with contextlib.ExitStack() as stack:
            self.disk = stack.enter_context(private_disk(self._base))
            self._note(self.disk.differing(old))
            self._stack.close()
            self._stack = stack.pop_all()
        self._window = Window(0, self._log, self._entry)

    def _nest(self, state: State) -> None:
        done = self._nested.nested if self._nested else 0
        assert self._recoveries is not None, "a nested state needs the log of its recovery"
        with open_log(self._recoveries / file_name(state)) as log:
            for entry in log.entries(done, state.nested):
                for write in writes_of(entry):
                    for block in self.disk.touched_by(write):
                        self._before_nested.setdefault(block, self.disk.block(block))
                    self._note(self.disk.apply(write))
        self._nested = state

    def _leave_nested(self) -> None:
        for block, content in self._before_nested.items():
            self._put(block, content)
        self._before_nested.clear()
        self._nested = None

    def _note(self, blocks: Iterable[int]) -> None:
        self.dirty.update(blocks)
