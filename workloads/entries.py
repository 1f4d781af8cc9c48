"""
One entry of a write log without its data: what a history's marks number, and what a reader of results sees.

In:       nothing.
Out:      EntryFlag, EntrySummary.
Not here: the log itself (harness/states/log.py).
"""

import enum

import msgspec

ALL_DEVICES = -1


class EntryFlag(enum.IntEnum):
    """drivers/md/dm-log-writes.c, LOG_*_FLAG. Several together are an int: as IntFlag each & took 2 us, now
    0.2, and a state takes a dozen of them."""

    FLUSH = 1
    FUA = 2
    DISCARD = 4
    MARK = 8
    METADATA = 16


class EntrySummary(msgspec.Struct, frozen=True, array_like=True):
    """One log entry without its data.

    flags:        bits of EntryFlag: 1 FLUSH, 2 FUA, 4 discard, 8 mark, 16 metadata.
    sector:       where it begins, in sectors of 512 B.
    sector_count: how long it is.
    mark:         the text of a mark, "" of other entries.
    device:       of a filesystem on several, which one; of a FLUSH ALL_DEVICES where that is not known.
    """

    flags: int
    sector: int
    sector_count: int
    mark: str = ""
    device: int = 0
