"""
Disks and logs of others, made by hand: a superblock, and writes that go on from it.

In:       which filesystem, its UUID, its size, of btrfs its last transaction.
Out:      the bytes of a superblock; a base image; entries.
Not here: what is read from them (states/superblock.py, stages/elsewhere.py).
"""

import struct
from pathlib import Path

from harness.states.log import SECTOR_BYTES, Entry
from workloads.entries import EntryFlag

SIZE_BYTES = 1 << 20
UUID, OTHER_UUID = bytes(range(16)), bytes(range(16, 32))
PLACE = {"btrfs": 64 << 10, "ext4": 1024, "xfs": 0, "f2fs": 1024, "nilfs2": 1024}


def superblock_of(
    filesystem: str, uuid: bytes = UUID, size_bytes: int = SIZE_BYTES, generation: int = 7
) -> bytes:
    """The sectors at PLACE."""
    raw = bytearray(4096 if filesystem == "btrfs" else 1024 if filesystem != "xfs" else 512)
    if filesystem == "btrfs":
        raw[0x20:0x30] = uuid
        raw[0x40:0x48] = b"_BHRfS_M"
        struct.pack_into("<Q", raw, 0x48, generation)
        struct.pack_into("<Q", raw, 0x70, size_bytes)
    elif filesystem == "ext4":
        struct.pack_into("<I", raw, 0x4, size_bytes >> 12)
        struct.pack_into("<I", raw, 0x18, 2)
        raw[0x38:0x3A] = b"\x53\xef"
        raw[0x68:0x78] = uuid
    elif filesystem == "xfs":
        raw[:4] = b"XFSB"
        struct.pack_into(">IQ", raw, 4, 4096, size_bytes >> 12)
        raw[32:48] = uuid
    elif filesystem == "nilfs2":
        raw[6:8] = b"\x34\x34"
        struct.pack_into("<Q", raw, 32, size_bytes)
        raw[152:168] = uuid
    else:
        raw[:4] = b"\x10\x20\xf5\xf2"
        struct.pack_into("<I", raw, 16, 12)
        struct.pack_into("<Q", raw, 36, size_bytes >> 12)
        raw[108:124] = uuid
    return bytes(raw)


def make_base(path: Path, filesystem: str = "ext4", size_bytes: int = SIZE_BYTES) -> Path:
    """A sparse image with nothing but a superblock."""
    with path.open("wb") as file:
        file.truncate(size_bytes)
        file.seek(PLACE[filesystem])
        file.write(superblock_of(filesystem, size_bytes=size_bytes))
    return path


def superblock_entry(filesystem: str, **instead: object) -> Entry:
    raw = superblock_of(filesystem, **instead)  # type: ignore[arg-type]
    return Entry(PLACE[filesystem] // SECTOR_BYTES, len(raw) // SECTOR_BYTES, EntryFlag.FUA, raw)


def mark(text: str) -> Entry:
    return Entry(0, 0, EntryFlag.MARK, mark=text)


def written(sector: int, letter: bytes = b"x", flags: int = 0) -> Entry:
    return Entry(sector, 8, flags, letter * 4096)
