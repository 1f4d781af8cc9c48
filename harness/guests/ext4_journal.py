"""
An ext4 journal that has been written nearly to its end, and whose numbers are nearly used up.

In:       an image that mke2fs has made, and how much of the journal is to be left before its end.
Out:      the image: the same filesystem, unmounted cleanly, whose journal goes on there.
Not here: mke2fs (filesystem.py).

A clean journal goes on where its superblock says that it ended (s_head, JBD2_CYCLE_RECORD), with the
number behind s_sequence: fs/jbd2/recovery.c jbd2_journal_recover(). Numbers of transactions have 32 bits
and go on at 0; jbd2 compares them by tid_gt() and tid_geq() (include/linux/jbd2.h).
"""

import struct
import subprocess
from pathlib import Path

MAGIC, SUPERBLOCK_V2 = 0xC03B3998, 4
# journal_superblock_t in include/linux/jbd2.h: s_maxlen, s_first, s_sequence, s_start, s_checksum_type,
# s_head.
LENGTH_AT, FIRST_AT, SEQUENCE_AT, START_AT, CHECKSUM_AT, HEAD_AT = 0x10, 0x14, 0x18, 0x1C, 0x50, 0x58
SUPERBLOCK_BYTES = 1024
NUMBERS_LEFT = 4
BLOCK_SIZE_AT = 1024 + 24  # struct ext4_super_block in fs/ext4/ext4.h: s_log_block_size


class NoFreshJournal(Exception):
    """Not a journal as mke2fs leaves it."""


def end_journal(image: Path, left: int, debugfs: str) -> None:
    """left: blocks of the journal. debugfs: the program. Errors: NoFreshJournal, OSError."""
    with image.open("r+b") as file:
        file.seek(BLOCK_SIZE_AT)
        block_bytes = 1024 << struct.unpack("<I", file.read(4))[0]
        start = _first_block(image, debugfs) * block_bytes
        file.seek(start)
        superblock = bytearray(file.read(SUPERBLOCK_BYTES))
        head = struct.unpack_from(">II", superblock)
        length, first, _, begin = struct.unpack_from(">IIII", superblock, LENGTH_AT)
        if head != (MAGIC, SUPERBLOCK_V2) or begin or superblock[CHECKSUM_AT]:
            raise NoFreshJournal(f"{image} has no clean journal without a checksum")
        if not first < length - left < length:
            raise NoFreshJournal(f"{image}: a journal of {length} blocks cannot end {left} before its end")
        struct.pack_into(">I", superblock, SEQUENCE_AT, (1 << 32) - NUMBERS_LEFT)
        struct.pack_into(">I", superblock, HEAD_AT, length - left)
        file.seek(start)
        file.write(superblock)


def _first_block(image: Path, debugfs: str) -> int:
    """Of the journal. Errors: NoFreshJournal."""
    command = [debugfs, "-R", "bmap <8> 0", str(image)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not said.isdecimal() or said == "0":
        raise NoFreshJournal(f"{image}: debugfs names no first block of the journal")
    return int(said)
