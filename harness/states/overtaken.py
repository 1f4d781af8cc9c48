"""
Writes that a log has behind a later write to the same place, and the order in which they reached the disk.

In:       a Log of a recording to its last entry, and the bytes that its disk holds afterwards.
Out:      suspects(): pairs whose order the log does not tell; overtaken(): those of them that are in the
          wrong order, for Log.moved().
Not here: reading the disk, which the recorder does (harness/stages/record.py); logs of others, whose disk is
          not at hand.

dm-log-writes logs a write with FUA at its own completion, and a plain write at the next FLUSH
(log_writes_end_io() and process_one() of drivers/md/dm-log-writes.c). A plain write of a block, and after it
a write of the same block with FUA, without a FLUSH between them, are therefore in the log in the wrong order:
each prefix behind the FLUSH would hold the older bytes. The log alone cannot tell this from a plain write
that did come later. The disk can, unless something wrote there once more.
"""

from collections.abc import Callable, Iterable

import msgspec

from harness.states.log import SECTOR_BYTES, Log
from workloads.entries import EntryFlag, EntrySummary

NO_WRITE = EntryFlag.MARK | EntryFlag.DISCARD


class Suspect(msgspec.Struct, frozen=True):
    """Indices of log entries. plain: a write without FUA. fua: one with it, which stands in front of the
    plain one with no FLUSH between them. sectors: those that both write."""

    plain: int
    fua: int
    sectors: range


def suspects(log: Log) -> list[Suspect]:
    """Each pair whose order the log does not tell."""
    found = []
    with_fua: list[int] = []
    for index, entry in enumerate(log):
        if entry.flags & EntryFlag.FLUSH:
            with_fua = []
        if entry.flags & NO_WRITE or not entry.sector_count:
            continue
        if entry.flags & EntryFlag.FUA:
            with_fua.append(index)
            continue
        pairs = (Suspect(index, fua, _overlap(entry, log.summary(fua))) for fua in with_fua)
        found += [pair for pair in pairs if pair.sectors]
    return found


def overtaken(
    log: Log, pairs: Iterable[Suspect], on_disk: Callable[[int, int], bytes]
) -> list[tuple[int, int]]:
    """
    (plain, fua) of the pairs whose plain write the disk shows to be the older one, for Log.moved().

    log: to the last entry that reached the disk. on_disk: bytes of the disk after that entry, by offset and
    length in bytes. A pair whose sectors are written or discarded once more later on is left out: the disk
    tells nothing of it.
    """
    older: dict[int, int] = {}
    for pair in pairs:
        if _is_older(log, pair, on_disk):
            older.setdefault(pair.plain, pair.fua)
    return list(older.items())


def _overlap(one: EntrySummary, other: EntrySummary) -> range:
    """The sectors that both write."""
    start = max(one.sector, other.sector)
    stop = min(one.sector + one.sector_count, other.sector + other.sector_count)
    return range(start, max(start, stop))


def _is_older(log: Log, pair: Suspect, on_disk: Callable[[int, int], bytes]) -> bool:
    if any(_changes(log.summary(later), pair.sectors) for later in range(pair.plain + 1, len(log))):
        return False
    plain, fua = (_bytes_at(log, index, pair.sectors) for index in (pair.plain, pair.fua))
    return plain != fua == on_disk(pair.sectors.start * SECTOR_BYTES, len(pair.sectors) * SECTOR_BYTES)


def _changes(entry: EntrySummary, place: range) -> bool:
    if entry.flags & EntryFlag.MARK:
        return False
    return entry.sector < place.stop and place.start < entry.sector + entry.sector_count


def _bytes_at(log: Log, index: int, place: range) -> bytes:
    entry = log.entry(index)
    start = (place.start - entry.sector) * SECTOR_BYTES
    return entry.data[start : start + len(place) * SECTOR_BYTES]
