"""
What a workload showed, as numbers: edges of the kernel's code, and roles of blocks in the log.

In:       which counters of a kernel are not zero (stages/counters.py); a log with its base disk.
Out:      Features: by kind the numbers of what was there, in ascending order.
Not here: what is made of them (corpus.py), the names of blocks (states/block_names.py).

Four kinds. `recorded` and `recovered`: edges between two blocks of the kernel's functions that were taken
while the run part of the workload was recorded, and while its crash states were recovered. `roles`: three
entries of the log in a row, each by the role of its first block and its flags, neighbours that are alike
taken as one. `findings`: signatures. The last two are hashed into SLOTS numbers.
"""

import mmap
import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from harness.states.block_names import block_name
from harness.states.disk import BLOCK_BYTES, writes_of
from harness.states.log import SECTOR_BYTES, Log
from workloads.entries import EntryFlag

RECORDED, RECOVERED, ROLES, FINDINGS = "recorded", "recovered", "roles", "findings"
KINDS = (RECORDED, RECOVERED, ROLES, FINDINGS)
SLOTS = 1 << 16
IN_A_ROW = 3
ENTRIES_MAX = 2000  # of a log that are looked at

Features = dict[str, bytes]  # by kind, each number four bytes, little-endian


def hashed(texts: Iterable[str]) -> bytes:
    """Numbers below SLOTS, each once."""
    import numpy  # noqa: PLC0415

    numbers = sorted({zlib.crc32(one.encode()) % SLOTS for one in texts})
    return numpy.array(numbers, dtype="<u4").tobytes()


def role_features(filesystem: str, base: Path, log: Log) -> bytes:
    """Errors: BadLog, OSError."""
    ordered = [name for name, _ in groupby(roles(filesystem, base, log))]
    rows = ("|".join(ordered[at : at + IN_A_ROW]) for at in range(max(len(ordered) - IN_A_ROW + 1, 1)))
    return hashed(rows if ordered else ())


def roles(filesystem: str, base: Path, log: Log) -> Iterator[str]:
    """Of each write: the role of its first block as this write leaves it, and its flags."""
    written: dict[int, bytes] = {}
    with base.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:

        def read(block: int) -> bytes:
            content = written.get(block)
            if content is None:
                content = image[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
            return content if len(content) == BLOCK_BYTES else content.ljust(BLOCK_BYTES, b"\0")

        for entry in log.entries(0, min(len(log), ENTRIES_MAX)):
            if entry.flags & (EntryFlag.MARK | EntryFlag.DISCARD):
                continue
            for write in writes_of(entry):
                for at in range(write.offset, write.offset + write.length, BLOCK_BYTES):
                    block, inside = divmod(at, BLOCK_BYTES)
                    begin = at - write.offset
                    piece = (write.data or bytes(write.length))[begin : begin + BLOCK_BYTES - inside]
                    before = read(block)
                    written[block] = before[:inside] + piece + before[inside + len(piece) :]
            flags = "".join(
                mark for flag, mark in ((EntryFlag.FLUSH, "!"), (EntryFlag.FUA, "+")) if entry.flags & flag
            )
            if not entry.sector_count:
                yield flags
                continue
            yield block_name(filesystem, read, entry.sector * SECTOR_BYTES // BLOCK_BYTES) + flags
