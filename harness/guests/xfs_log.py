"""
An XFS log that has been written nearly to its end, as after long use.

In:       an image that mkfs.xfs has made, and how much of the log is to be left before its end.
Out:      the image: the same filesystem, unmounted cleanly, whose log goes on there.
Not here: mkfs (filesystem.py).

mkfs gives a log 64 MiB at least, so no workload comes to the end of a fresh one, where what is written
goes on at the begin with the next cycle number. mkfs leaves one record of two basic blocks (512 B) at
the begin, of a clean unmount: it is moved. The blocks before it get the number of the first cycle, which
stands in the first word of each (xlog_get_cycle() in fs/xfs/xfs_log_priv.h): recovery finds the head of
the log by them. Only those are written that it looks at: xlog_find_head() and xlog_find_zeroed() in
fs/xfs/xfs_log_recover.c halve the log with xlog_find_cycle_start(), and then look at the last
XLOG_TOTAL_REC_SHIFT() bytes before the head.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BASIC_BLOCK = 512
SUPERBLOCK_MAGIC, RECORD_MAGIC = b"XFSB", b"\xfe\xed\xba\xbe"
LOOKED_AT = (8 << 18) // BASIC_BLOCK  # XLOG_TOTAL_REC_SHIFT(): eight log buffers of 256 KiB
CYCLE = struct.pack(">I", 1)
# struct xlog_rec_header in fs/xfs/libxfs/xfs_log_format.h: h_cycle, h_lsn and h_tail_lsn, h_crc.
CYCLE_AT, LSN_AT, CRC_AT = 4, 16, 32
RECORD_BLOCKS = 2


class NoFreshLog(Exception):
    """Not a log as mkfs.xfs leaves it."""


def end_log(image: Path, left: int) -> None:
    """left: basic blocks behind the record of the unmount. Errors: NoFreshLog, OSError."""
    with image.open("r+b") as file:
        start, blocks = _place_of_log(file)
        head = blocks - left - RECORD_BLOCKS
        if not LOOKED_AT < head < blocks - RECORD_BLOCKS:
            raise NoFreshLog(f"{image}: a log of {blocks} blocks cannot end {left} before its end")
        file.seek(start)
        record = bytearray(file.read(RECORD_BLOCKS * BASIC_BLOCK))
        if record[:4] != RECORD_MAGIC or struct.unpack_from(">I", record, CYCLE_AT) != (1,):
            raise NoFreshLog(f"{image}: the log does not begin with a record of its first cycle")
        struct.pack_into(">QQ", record, LSN_AT, 1 << 32 | head, 1 << 32 | head)
        struct.pack_into(">I", record, CRC_AT, 0)  # as mkfs does: xlog_recover_process() takes 0 for none
        file.seek(start)
        file.write(bytes(RECORD_BLOCKS * BASIC_BLOCK))
        for block in sorted({*range(LOOKED_AT), *_halves(blocks, head), *range(head - LOOKED_AT, head)}):
            file.seek(start + block * BASIC_BLOCK)
            file.write(CYCLE)
        file.seek(start + head * BASIC_BLOCK)
        file.write(record)


def _place_of_log(file: BinaryIO) -> tuple[int, int]:
    """Its first byte in the image, and its length in basic blocks. struct xfs_dsb in
    fs/xfs/libxfs/xfs_format.h; the log is inside the filesystem. Errors: NoFreshLog."""
    superblock = file.read(BASIC_BLOCK)
    if superblock[:4] != SUPERBLOCK_MAGIC:
        raise NoFreshLog(f"{file.name} has no XFS superblock")
    (block_bytes,) = struct.unpack_from(">I", superblock, 4)
    (log_start,) = struct.unpack_from(">Q", superblock, 48)
    group_blocks, log_blocks = (struct.unpack_from(">I", superblock, at)[0] for at in (84, 96))
    group_shift = superblock[124]
    group, block = log_start >> group_shift, log_start & (1 << group_shift) - 1
    start = (group * group_blocks + block) * block_bytes
    return start, log_blocks * block_bytes // BASIC_BLOCK


def _halves(blocks: int, head: int) -> Iterator[int]:
    """Those before the head that xlog_find_cycle_start() looks at, for a head there and one in the next
    cycle."""
    first, last = 0, blocks - 1
    while first < (middle := (first + last) // 2) < last:
        if middle < head:
            yield middle
            first = middle
        else:
            last = middle
    middle = (blocks - 1) // 2
    while middle:
        yield middle
        middle //= 2
