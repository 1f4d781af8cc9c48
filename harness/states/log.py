"""
A dm-log-writes log: read it, and write one.

In:       a file in the format of drivers/md/dm-log-writes.c (version 1).
Out:      Log: entries by index, their data on demand; write_log() for tests and for stored logs.
Not here: what an entry does to a disk (disk.py), which prefixes are states (crash.py).

The format, little endian: sector 0 holds {magic u64, version u64, nr_entries u64, sectorsize u32}. Then
per entry one sector with {sector u64, nr_sectors u64, flags u64, data_len u64}, `sector` and `nr_sectors`
in units of sectorsize (bio_to_dev_sectors() there); a mark's text of data_len bytes follows in the same
sector; the data of a write, nr_sectors * sectorsize bytes, follows in its own. A discard has no data.
"""

import contextlib
import os
import struct
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from harness.states.devices import Places, places_of
from workloads.entries import EntryFlag, EntrySummary

MAGIC = 0x6A736677736872
VERSION = 1
SECTOR_BYTES = 512
SUPERBLOCK = struct.Struct("<QQQI")
HEADER = struct.Struct("<QQQQ")
ALL_FLAGS = sum(EntryFlag)


class BadLog(Exception):
    """The file is no whole dm-log-writes log; the message names the place."""


class Entry(msgspec.Struct, frozen=True):
    """One record. sector, sector_count: 512 B units. flags: as EntryFlag. mark: its text when it is one."""

    sector: int
    sector_count: int
    flags: int
    data: bytes = b""
    mark: str = ""


class Log:
    """Entries of a log file by index. Memory: 25 bytes an entry and the marks; data stays in the file.
    devices: where the log is one of several."""

    def __init__(self, file: IO[bytes], sector_size: int) -> None:
        self._file = file
        self.sector_size = sector_size
        self._sectors = array("Q")
        self._counts = array("Q")
        self._flags = array("B")
        self._places = array("Q")
        self.marks: dict[int, str] = {}
        self.devices: Places | None = None

    def __len__(self) -> int:
        return len(self._sectors)

    def summary(self, entry_index: int) -> EntrySummary:
        """The entry without its data."""
        return EntrySummary(
            self._flags[entry_index],
            self._sectors[entry_index],
            self._counts[entry_index],
            self.marks.get(entry_index, ""),
            self.devices.device_at(self._sectors[entry_index]) if self.devices else 0,
        )

    def __iter__(self) -> Iterator[EntrySummary]:
        return (self.summary(entry_index) for entry_index in range(len(self)))

    def __getitem__(self, entry_index: int) -> EntrySummary:
        """A sequence of entries without their data. Errors: IndexError."""
        return self.summary(entry_index)

    def entry(self, entry_index: int) -> Entry:
        """The entry with its data. Errors: BadLog when the file shrank meanwhile."""
        flags = self._flags[entry_index]
        data = b""
        if not flags & (EntryFlag.MARK | EntryFlag.DISCARD):
            length = self._counts[entry_index] * SECTOR_BYTES
            data = os.pread(self._file.fileno(), length, self._places[entry_index])
            if len(data) != length:
                raise BadLog(f"{self._file.name}: cut off in the data of entry {entry_index}")
        return Entry(
            self._sectors[entry_index],
            self._counts[entry_index],
            flags,
            data,
            self.marks.get(entry_index, ""),
        )

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """Entries start to stop, in order."""
        for entry_index in range(start, len(self) if stop is None else stop):
            yield self.entry(entry_index)

    def mark_index(self, text: str) -> int:
        """Where the first mark with this text stands. Errors: BadLog when there is none."""
        for entry_index, mark in self.marks.items():
            if mark == text:
                return entry_index
        raise BadLog(f"{self._file.name}: none of its {len(self)} entries is the mark {text!r}")

    def moved(self, moves: Iterable[tuple[int, int]]) -> "Log":
        """The same entries in another order. moves: (index, in front of which index), the indices those of
        this log. What moves in front of one entry keeps its order."""
        in_front: dict[int, list[int]] = {}
        for index, place in moves:
            in_front.setdefault(place, []).append(index)
        gone = {index for indices in in_front.values() for index in indices}
        order = [
            one
            for index in range(len(self))
            for one in (*in_front.get(index, ()), *(() if index in gone else (index,)))
        ]
        moved = Log(self._file, self.sector_size)
        moved._sectors = array("Q", (self._sectors[index] for index in order))
        moved._counts = array("Q", (self._counts[index] for index in order))
        moved._flags = array("B", (self._flags[index] for index in order))
        moved._places = array("Q", (self._places[index] for index in order))
        moved.devices = self.devices
        moved.marks = {new: self.marks[old] for new, old in enumerate(order) if old in self.marks}
        return moved

    def _read_superblock(self, size_bytes: int) -> int:
        raw = self._file.read(SUPERBLOCK.size)
        if len(raw) < SUPERBLOCK.size:
            raise BadLog(f"{self._file.name}: {size_bytes} bytes are too small for a dm-log-writes log")
        magic, version, entry_count, sector_size = SUPERBLOCK.unpack(raw)
        if magic != MAGIC:
            raise BadLog(
                f"{self._file.name} is not a dm-log-writes log: its magic number is {magic:#x}, "
                f"expected {MAGIC:#x}"
            )
        if version != VERSION:
            raise BadLog(
                f"{self._file.name}: the log has version {version}; only version {VERSION} is supported"
            )
        if sector_size < SECTOR_BYTES or sector_size % SECTOR_BYTES:
            raise BadLog(f"{self._file.name}: the sector size {sector_size} in the superblock is invalid")
        self.sector_size = sector_size
        return int(entry_count)

    def _makes_sense(self, sector: int, count: int, flags: int, data_length: int) -> bool:
        """Zeros are no entry: without data there is a FLUSH or a mark, else log_writes_map() logs nothing."""
        if flags > ALL_FLAGS or (sector + count) * self.sector_size >= 1 << 63:
            return False
        if flags & EntryFlag.MARK:
            return bool(data_length <= self.sector_size - HEADER.size)
        return count > 0 or bool(flags & EntryFlag.FLUSH)

    def _scan(self, size_bytes: int, entry_count: int | None) -> None:
        place = self.sector_size
        scale = self.sector_size // SECTOR_BYTES
        header_bytes = min(self.sector_size, size_bytes)  # a damaged superblock may claim 4 GiB
        while entry_count is None or len(self) < entry_count:
            number = len(self)
            raw = os.pread(self._file.fileno(), header_bytes, place)
            if len(raw) < HEADER.size:
                if entry_count is None and not raw:
                    return
                raise BadLog(
                    f"{self._file.name} ends after {number} entries, and its superblock says {entry_count}"
                    if entry_count is not None and not raw
                    else f"{self._file.name}: cut off in the header of entry {number} at byte {place}"
                )
            sector, count, flags, data_length = HEADER.unpack_from(raw)
            if not self._makes_sense(sector, count, flags, data_length):
                raise BadLog(
                    f"{self._file.name}: entry {number} at byte {place} is invalid (flags {flags:#x})"
                )
            if flags & EntryFlag.MARK:
                self.marks[number] = raw[HEADER.size :][:data_length].rstrip(b"\0").decode("latin-1")
            place += self.sector_size
            self._places.append(place)
            if not flags & (EntryFlag.DISCARD | EntryFlag.MARK):
                place += count * self.sector_size
            if place > size_bytes:
                raise BadLog(
                    f"{self._file.name}: cut off in the middle of entry {number} ({size_bytes} bytes)"
                )
            self._sectors.append(sector * scale)
            self._counts.append(count * scale)
            self._flags.append(flags)
            if not number:
                self.devices = places_of(self.marks.get(0, ""))
            if entry_count is None and self.marks.get(number) == "end":
                return


@contextlib.contextmanager
def open_log(path: Path, until_end_mark: bool = False) -> Iterator[Log]:
    """
    A log, checked from its first entry to its last.

    until_end_mark: read on past nr_entries to our mark "end", because the kernel rewrites nr_entries
    only on FUA writes and marks.
    Errors: BadLog, OSError.
    """
    with path.open("rb") as file:
        size_bytes = path.stat().st_size
        log = Log(file, SECTOR_BYTES)
        claimed = log._read_superblock(size_bytes)
        log._scan(size_bytes, None if until_end_mark else claimed)
        yield log


def write_log(path: Path, entries: Iterable[Entry], sector_size: int = SECTOR_BYTES) -> int:
    """Write a log; how many entries it holds. The superblock comes last, so half a log is no log."""
    count = 0
    scale = sector_size // SECTOR_BYTES
    with path.open("wb") as file:
        file.write(bytes(sector_size))
        for entry in entries:
            text = entry.mark.encode("latin-1")
            assert entry.sector % scale == entry.sector_count % scale == 0
            header = HEADER.pack(entry.sector // scale, entry.sector_count // scale, entry.flags, len(text))
            header += text
            assert len(header) <= sector_size
            file.write(header.ljust(sector_size, b"\0"))
            if not entry.flags & (EntryFlag.DISCARD | EntryFlag.MARK):
                assert len(entry.data) == entry.sector_count * SECTOR_BYTES
                file.write(entry.data)
            count += 1
        file.seek(0)
        file.write(SUPERBLOCK.pack(MAGIC, VERSION, count, sector_size))
    return count
