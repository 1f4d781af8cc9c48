"""
What a disk says of itself: which filesystem it holds, of which identity and size.

In:       the bytes of a disk, read at an offset; the entries of a log.
Out:      Superblock, or None where none of our filesystems is; misfit(): why a log cannot be of a base disk.
Not here: what else is on the disk (block_names.py), opening images and logs (harness/stages/elsewhere.py).

Sources: struct btrfs_super_block in include/uapi/linux/btrfs_tree.h; struct ext4_super_block in
fs/ext4/ext4.h; struct xfs_dsb in fs/xfs/libxfs/xfs_format.h and struct xlog_rec_header in xfs_log_format.h
(both big endian); struct f2fs_super_block in include/linux/f2fs_fs.h; struct nilfs_super_block in
include/uapi/linux/nilfs2_ondisk.h.
"""

import struct
import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from harness.states.devices import Places
from harness.states.log import SECTOR_BYTES, Log
from workloads.entries import EntryFlag

Read = Callable[[int, int], bytes]  # offset and length; fewer bytes at the end of a disk

BTRFS_AT, BTRFS_MAGIC = 64 << 10, b"_BHRfS_M"
EXT4_AT, EXT4_MAGIC = 1024, b"\x53\xef"
XFS_MAGIC, XFS_RECORD_MAGIC = b"XFSB", b"\xfe\xed\xba\xbe"
F2FS_AT, F2FS_MAGIC = 1024, b"\x10\x20\xf5\xf2"
NILFS2_AT, NILFS2_MAGIC = 1024, b"\x34\x34"
XFS_RECORD_UUID = 304
UUID_BYTES = 16
# Where each keeps its UUID, in bytes of the disk.
UUID_AT = {
    "btrfs": BTRFS_AT + 0x20,
    "ext4": EXT4_AT + 0x68,
    "xfs": 32,
    "f2fs": F2FS_AT + 108,
    "nilfs2": NILFS2_AT + 152,
}
GENERATION_AT = BTRFS_AT + 0x48
LOG_ROOT_AT = 0x60  # in the superblock


class Superblock(msgspec.Struct, frozen=True):
    """uuid: 16 bytes. size_bytes: of the filesystem, which the disk must have. generation: of btrfs, the last
    transaction; 0 of others."""

    filesystem: str
    uuid: bytes
    size_bytes: int
    generation: int = 0


def superblock(read: Read) -> Superblock | None:
    """None where the disk holds none of the filesystems that there are profiles for."""
    for parse in (_btrfs, _ext4, _xfs, _f2fs, _nilfs2):
        found = parse(read)
        if found is not None:
            return found
    return None


def _btrfs(read: Read) -> Superblock | None:
    raw = read(BTRFS_AT, 4096)
    if raw[0x40:0x48] != BTRFS_MAGIC or len(raw) < 0x78:
        return None
    generation, total = struct.unpack_from("<Q", raw, 0x48)[0], struct.unpack_from("<Q", raw, 0x70)[0]
    return Superblock("btrfs", raw[0x20:0x30], total, generation)


def _ext4(read: Read) -> Superblock | None:
    raw = read(EXT4_AT, 1024)
    if raw[0x38:0x3A] != EXT4_MAGIC or len(raw) < 0x154:
        return None
    low, shift, high = (struct.unpack_from("<I", raw, at)[0] for at in (0x4, 0x18, 0x150))
    has_64bit = struct.unpack_from("<I", raw, 0x60)[0] & 0x80
    blocks = low + ((high << 32) if has_64bit else 0)
    return Superblock("ext4", raw[0x68:0x78], blocks << (10 + min(shift, 6)))


def _xfs(read: Read) -> Superblock | None:
    raw = read(0, 512)
    if raw[:4] != XFS_MAGIC or len(raw) < 48:
        return None
    block_bytes, blocks = struct.unpack_from(">IQ", raw, 4)
    return Superblock("xfs", raw[32:48], block_bytes * blocks)


def _f2fs(read: Read) -> Superblock | None:
    raw = read(F2FS_AT, 1024)
    if raw[:4] != F2FS_MAGIC or len(raw) < 124:
        return None
    shift, blocks = struct.unpack_from("<I", raw, 16)[0], struct.unpack_from("<Q", raw, 36)[0]
    return Superblock("f2fs", raw[108:124], blocks << min(shift, 16))


def _nilfs2(read: Read) -> Superblock | None:
    raw = read(NILFS2_AT, 1024)
    if raw[6:8] != NILFS2_MAGIC or len(raw) < 168:
        return None
    return Superblock("nilfs2", raw[152:168], struct.unpack_from("<Q", raw, 32)[0])


# --- what a log says of several devices ------------------------------------------------------------


class Generation(NamedTuple):
    """entry: that writes a first superblock of btrfs. number: of the last transaction. logs: the superblock
    leads to a log tree, which an fsync wrote; else a commit did, and the number is one more than it was."""

    entry: int
    device: int
    number: int
    logs: bool


def generations(log: Log, places: Places) -> Iterator[Generation]:
    """In the order of the log."""
    of = {
        places.sectors_of(device).start + BTRFS_AT // SECTOR_BYTES: device for device in range(places.count)
    }
    for index, entry in enumerate(log):
        device = of.get(entry.sector)
        if device is None or entry.flags & (EntryFlag.MARK | EntryFlag.DISCARD) or not entry.sector_count:
            continue
        data = log.entry(index).data
        if data[0x40:0x48] == BTRFS_MAGIC and len(data) >= LOG_ROOT_AT + 8:
            (number,) = struct.unpack_from("<Q", data, GENERATION_AT - BTRFS_AT)
            (log_root,) = struct.unpack_from("<Q", data, LOG_ROOT_AT)
            yield Generation(index, device, number, log_root != 0)


# --- whether a log goes on from a disk ------------------------------------------------------------


def misfit(base: Superblock, size_bytes: int, log: Log) -> str:
    """
    Why this log cannot have been recorded on this disk; "" when nothing speaks against it.

    What can be seen: a write that lies outside the disk, another filesystem's UUID in what is written, and of
    btrfs a transaction that does not follow the base's: a commit has the next number, an fsync the same
    (fs/btrfs/tree-log.c btrfs_sync_log()).
    """
    for index in range(len(log)):
        entry = log.summary(index)
        if entry.flags & EntryFlag.MARK or not entry.sector_count:
            continue
        _start, end = entry.sector * SECTOR_BYTES, (entry.sector + entry.sector_count) * SECTOR_BYTES
        if end > size_bytes:
            return f"entry {index} writes up to byte {end}, and the base image has {size_bytes} bytes"
    return _of_another(base, log)


def _of_another(base: Superblock, log: Log) -> str:
    """By the first entry that names the filesystem, and of a mkfs in the log by that."""
    at = UUID_AT[base.filesystem]
    first = True
    for index in range(len(log)):
        entry = log.summary(index)
        if entry.flags & (EntryFlag.MARK | EntryFlag.DISCARD) or not entry.sector_count:
            continue
        start, end = entry.sector * SECTOR_BYTES, (entry.sector + entry.sector_count) * SECTOR_BYTES
        is_super = start <= at and at + UUID_BYTES <= end
        if not is_super and base.filesystem != "xfs":
            continue
        data = log.entry(index).data
        found = data[at - start :][:UUID_BYTES] if is_super else b""
        if not is_super and data[:4] == XFS_RECORD_MAGIC:
            found = data[XFS_RECORD_UUID:][:UUID_BYTES]
        if found and found != base.uuid:
            return (
                f"entry {index} writes a filesystem with the UUID {_words(found)}, and that of the base "
                f"image is {_words(base.uuid)}"
            )
        if is_super and first and base.filesystem == "btrfs" and end >= GENERATION_AT + 8:
            first = False
            (written,) = struct.unpack_from("<Q", data, GENERATION_AT - start)
            if not base.generation <= written <= base.generation + 1:
                return (
                    f"entry {index} writes transaction {written} of the filesystem, and the last one of the "
                    f"base image is {base.generation}"
                )
    return ""


def _words(raw: bytes) -> str:
    return str(uuid.UUID(bytes=raw))
