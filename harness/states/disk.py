"""
The bytes of a state: a disk that moves forward write by write, and knows who it is.

In:       a base image and entries of a log.
Out:      Disk: the image as a file, the writes that an entry means, and an identity that two disks of one
          base share exactly when their bytes are equal (128 bit; a collision is not expected to occur).
Not here: which entries make which state (crash.py), going from state to state (rebuild.py),
          recovery (recover.py).

Discards read back as zeros: what ubd does with them, and the only reading that a log allows.
"""

import contextlib
import hashlib
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from harness.states.log import SECTOR_BYTES, Entry
from workloads.entries import EntryFlag

BLOCK_BYTES = 4096
RUN_BYTES = 1 << 20
ZERO_BLOCK = bytes(BLOCK_BYTES)
MASK = (1 << 128) - 1


class DiskWrite(msgspec.Struct, frozen=True):
    """Bytes at an offset; data None means `length` zeros."""

    offset: int
    length: int
    data: bytes | None


class BadEntry(Exception):
    """An entry that lies outside the disk."""


def writes_of(entry: Entry) -> tuple[DiskWrite, ...]:
    """What the entry does to a disk: nothing for a mark and an empty FLUSH."""
    if entry.flags & EntryFlag.MARK or not entry.sector_count:
        return ()
    offset = entry.sector * SECTOR_BYTES
    length = entry.sector_count * SECTOR_BYTES
    data = None if entry.flags & EntryFlag.DISCARD else entry.data
    return (DiskWrite(offset, length, data),)


class Disk:
    """A file of fixed size, mapped; what was written takes memory, and base: the blocks that it starts with.
    Only others are hashed, for a base has a hundred and more, of which a log writes few."""

    def __init__(self, path: Path, image: mmap.mmap) -> None:
        self.path = path
        self.image = image
        self.size_bytes = len(image)
        self.base = nonzero_blocks(path)
        self._hashes: dict[int, int] = {}  # of the blocks that differ from the base
        self._identity = 0
        self._nonzero = set(self.base)

    def apply(self, write: DiskWrite) -> Iterable[int]:
        """The blocks it touched. Errors: BadEntry."""
        end = write.offset + write.length
        if end > self.size_bytes:
            raise BadEntry(
                f"a write of bytes {write.offset} to {end} lies outside the disk of {self.size_bytes}"
            )
        touched = self.touched_by(write)
        if write.data is None:
            self._zero(write.offset, write.length)
        else:
            self.image[write.offset : end] = write.data
        return self._rehash(touched)

    def _zero(self, offset: int, length: int) -> None:
        for block in self.blocks_between(offset, offset + length):
            start = max(offset, block * BLOCK_BYTES)
            stop = min(offset + length, (block + 1) * BLOCK_BYTES)
            self.image[start:stop] = bytes(stop - start)

    def blocks_between(self, start: int, stop: int) -> list[int]:
        """Blocks with something in them, of those that bytes start to stop touch."""
        first, last = start // BLOCK_BYTES, (stop + BLOCK_BYTES - 1) // BLOCK_BYTES
        if last - first > len(self._nonzero):
            return sorted(block for block in self._nonzero if first <= block < last)
        return [block for block in range(first, last) if block in self._nonzero]

    def touched_by(self, write: DiskWrite) -> Iterable[int]:
        """The blocks that it may change. A large discard touches mostly holes: what was nothing stays so."""
        start, stop = write.offset, write.offset + write.length
        if write.data is None:
            return self.blocks_between(start, stop)
        return range(start // BLOCK_BYTES, (stop + BLOCK_BYTES - 1) // BLOCK_BYTES)

    def differing(self, other: "Disk") -> set[int]:
        """The blocks in which the two are not equal; both have the same base."""
        blocks = self._hashes.keys() | other._hashes.keys()
        return {block for block in blocks if self._hashes.get(block) != other._hashes.get(block)}

    def _rehash(self, touched: Iterable[int]) -> Iterable[int]:
        for block in touched:
            content = self.block(block)
            self._identity -= self._hashes.pop(block, 0)
            zeros = ZERO_BLOCK[: len(content)]
            if content != self.base.get(block, zeros):
                value = self._hashes[block] = block_hash(block, content)
                self._identity += value
            if content != zeros:
                self._nonzero.add(block)
            else:
                self._nonzero.discard(block)
        self._identity &= MASK
        return touched

    def identity(self) -> int:
        """Equal for equal bytes: a sum over the blocks that differ from the base, so a delta costs its own
        size."""
        return self._identity

    def nonzero_blocks(self) -> list[int]:
        """Block numbers, ascending."""
        return sorted(self._nonzero)

    def block(self, number: int) -> bytes:
        """One block's bytes."""
        return self.image[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES]


def block_hash(number: int, content: bytes) -> int:
    """128 bit of SHA-256, for which processors have instructions."""
    digest = hashlib.sha256(number.to_bytes(8, "little"))
    digest.update(content)
    return int.from_bytes(digest.digest()[:16], "little")


def data_blocks(path: Path) -> Iterator[int]:
    """Blocks of the file that are not holes."""
    with path.open("rb") as file:
        size_bytes = file.seek(0, os.SEEK_END)
        at = 0
        while at < size_bytes:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # ENXIO: only a hole follows
                return
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            yield from range(start // BLOCK_BYTES, (at + BLOCK_BYTES - 1) // BLOCK_BYTES)


def nonzero_blocks(path: Path) -> dict[int, bytes]:
    """Of the file, by number."""
    return {
        (offset + at) // BLOCK_BYTES: block
        for offset, content in _data(path)
        for at in range(0, len(content), BLOCK_BYTES)
        if (block := content[at : at + BLOCK_BYTES]) != ZERO_BLOCK[: len(block)]
    }


def data_runs(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of what is not zero, neighbouring blocks as one run of at most RUN_BYTES."""
    for offset, content in _data(path):
        yield from nonzero_runs(offset, content)


def _data(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of what is no hole, whole blocks, RUN_BYTES at most at a time."""
    with path.open("rb") as file:
        size_bytes = file.seek(0, os.SEEK_END)
        at = 0
        while at < size_bytes:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // BLOCK_BYTES * BLOCK_BYTES
            except OSError:  # ENXIO: only a hole follows
                return
            stop = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            while at < stop:
                content = os.pread(file.fileno(), min(RUN_BYTES, stop - at), at)
                yield at, content
                at += len(content)


def nonzero_runs(offset: int, content: bytes) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of what is not zero in content, which stands at an offset; whole blocks."""
    start = 0
    for at in range(0, len(content), BLOCK_BYTES):
        block = content[at : at + BLOCK_BYTES]
        if block == ZERO_BLOCK[: len(block)]:
            if at > start:
                yield offset + start, content[start:at]
            start = at + BLOCK_BYTES
    if len(content) > start:
        yield offset + start, content[start:]


def write_sparse(target: Path, size_bytes: int, blocks: Iterable[tuple[int, bytes]]) -> None:
    """A file of that size with these blocks, by number, and holes elsewhere. Errors: OSError."""
    with target.open("wb") as file:
        file.truncate(size_bytes)
        for block, content in blocks:
            file.seek(block * BLOCK_BYTES)
            file.write(content)


def copy_sparse(source: Path, target: Path) -> None:
    """Copy what is not zero; the target keeps its inode, and becomes as large as the source."""
    with target.open("r+b") as writer:
        writer.truncate(0)
        writer.truncate(source.stat().st_size)
        for offset, content in data_runs(source):
            os.pwrite(writer.fileno(), content, offset)


@contextlib.contextmanager
def open_disk(path: Path, base: Path) -> Iterator[Disk]:
    """A disk at `path` that starts as a copy of `base`. Errors: OSError."""
    with open_image(path, base) as image:
        yield Disk(path, image)


@contextlib.contextmanager
def open_image(path: Path, base: Path) -> Iterator[mmap.mmap]:
    """The bytes of a copy of `base` at `path`. Errors: OSError."""
    path.touch()
    copy_sparse(base, path)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as image:
        yield image


@contextlib.contextmanager
def private_disk(base: Path) -> Iterator[Disk]:
    """A disk that starts as `base` and lives in our memory alone: nothing is copied before it is written.
    Errors: OSError."""
    with base.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as image:
        yield Disk(base, image)
