"""
Writes that a log has behind a later write to the same place, and the order in which they reached the disk.

In:       a Log of a recording to its last entry, and the bytes that its disk holds afterwards.
Out:      suspects(): pairs whose order the log does not tell; overtaken(): those of them that are in the
          wrong order, for Log.moved().
Not here: reading the disk, which the recorder does (harness/stages/record.py); logs of others, whose disk is
          not at hand.

dm-log-writes logs a write with FUA at its own completion, and a plain write at the next FLUSH
(log_writes_end_io() and process_one() of drivers/md/dm-log-writes.c). So the log can have two writes of one
block in the wrong order:

- A plain write, and after it a write with FUA, without a FLUSH between them: the plain one is logged last.
- Two plain writes, and two tasks that flush at once. A FLUSH takes what has completed when it is submitted
  (log_writes_map()), and is logged with it when it completes itself. If the FLUSH that took the second write
  completes first, the first write is logged last.

Each prefix behind would hold the older bytes. The log alone cannot tell this from a write that did come
later. The disk can, unless something wrote there once more.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from harness.states.log import SECTOR_BYTES, Log
from workloads.entries import EntryFlag, EntrySummary

NO_WRITE = EntryFlag.MARK | EntryFlag.DISCARD


class Suspect(msgspec.Struct, frozen=True):
    """Indices of log entries. plain: a write without FUA. front: another write, which stands in front of it.
    sectors: those that both write."""

    plain: int
    front: int
    sectors: range


def suspects(log: Log) -> list[Suspect]:
    """Each pair whose order the log does not tell: the last two writes of a place, where they differ, the
    first with FUA or a FLUSH between them. Without these, the order of the log is that of completion."""
    last: dict[int, int] = {}  # by sector
    before: dict[int, int] = {}
    flushes = []  # how many came before, by entry
    count = 0
    for index, entry in enumerate(log):
        count += bool(entry.flags & EntryFlag.FLUSH)
        flushes.append(count)
        if entry.flags & NO_WRITE:
            continue
        for sector in range(entry.sector, entry.sector + entry.sector_count):
            if sector in last:
                before[sector] = last[sector]
            last[sector] = index
    places: dict[tuple[int, int], list[int]] = {}
    for sector, front in before.items():
        plain = last[sector]
        between = flushes[front] < flushes[plain] or log.summary(front).flags & EntryFlag.FUA
        if between and not log.summary(plain).flags & EntryFlag.FUA:
            places.setdefault((plain, front), []).append(sector)
    return [
        Suspect(plain, front, place)
        for (plain, front), sectors in sorted(places.items())
        for place in _ranges(sectors)
        if _bytes_at(log, plain, place) != _bytes_at(log, front, place)
    ]


def _ranges(numbers: list[int]) -> Iterator[range]:
    """Neighbours together."""
    ordered = sorted(numbers)
    start = 0
    for at in range(1, len(ordered) + 1):
        if at == len(ordered) or ordered[at] != ordered[at - 1] + 1:
            yield range(ordered[start], ordered[at - 1] + 1)
            start = at


def overtaken(
    log: Log, pairs: Iterable[Suspect], on_disk: Callable[[int, int], bytes]
) -> list[tuple[int, int]]:
    """
    (plain, front) of the pairs whose plain write the disk shows to be the older one, for Log.moved().

    log: to the last entry that reached the disk. on_disk: bytes of the disk after that entry, by offset and
    length in bytes. A pair whose sectors are written or discarded once more later on is left out: the disk
    tells nothing of it.
    """
    older: dict[int, int] = {}
    for pair in pairs:
        if _is_older(log, pair, on_disk):
            older.setdefault(pair.plain, pair.front)
    return list(older.items())


def _is_older(log: Log, pair: Suspect, on_disk: Callable[[int, int], bytes]) -> bool:
    front = _bytes_at(log, pair.front, pair.sectors)
    if front != on_disk(pair.sectors.start * SECTOR_BYTES, len(pair.sectors) * SECTOR_BYTES):
        return False
    return not any(_changes(log.summary(later), pair.sectors) for later in range(pair.plain + 1, len(log)))


def _changes(entry: EntrySummary, place: range) -> bool:
    if entry.flags & EntryFlag.MARK:
        return False
    return entry.sector < place.stop and place.start < entry.sector + entry.sector_count


def _bytes_at(log: Log, index: int, place: range) -> bytes:
    entry = log.entry(index)
    start = (place.start - entry.sector) * SECTOR_BYTES
    return entry.data[start : start + len(place) * SECTOR_BYTES]
