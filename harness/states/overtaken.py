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
later. The disk can, unless something wrote there once more. Then, of a write with FUA, the stamps can
(workloads/history.py stamped()): bytes of an earlier operation are taken for the older ones. So a cache that
writes them back behind newer ones is not seen there, but where nothing follows it is.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec
import numpy

from harness.states.log import SECTOR_BYTES, Log
from workloads.entries import EntryFlag, EntrySummary
from workloads.history import CELL_MAGIC

NO_WRITE = EntryFlag.MARK | EntryFlag.DISCARD


class Suspect(msgspec.Struct, frozen=True):
    """Indices of log entries. plain: a write without FUA. front: another write, which stands in front of it.
    sectors: those that both write."""

    plain: int
    front: int
    sectors: range


def suspects(log: Log) -> list[Suspect]:
    """Each pair whose order the log does not tell: two writes of a place, one after the other, where they
    differ: the last two, the first with FUA or a FLUSH between them, and of earlier ones those with FUA.
    Without these, the order of the log is that of completion."""
    last: dict[int, int] = {}  # by sector
    before: dict[int, int] = {}
    earlier: list[tuple[int, int, int]] = []  # (sector, front with FUA, plain)
    fua: set[int] = set()  # entries
    flushes = []  # how many came before, by entry
    count = 0
    for index, entry in enumerate(log):
        count += bool(entry.flags & EntryFlag.FLUSH)
        flushes.append(count)
        if entry.flags & NO_WRITE:
            continue
        if entry.flags & EntryFlag.FUA:
            fua.add(index)
        for sector in range(entry.sector, entry.sector + entry.sector_count):
            if sector in last:
                if before.get(sector) in fua:
                    earlier.append((sector, before[sector], last[sector]))
                before[sector] = last[sector]
            last[sector] = index
    places: dict[tuple[int, int], list[int]] = {}
    ends = ((sector, front, last[sector]) for sector, front in before.items())
    for sector, front, plain in (*earlier, *ends):
        if plain not in fua and (front in fua or flushes[front] < flushes[plain]):
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
    (plain, front) of the pairs whose plain write the disk or the stamps show to be the older one, for
    Log.moved().

    log: to the last entry that reached the disk. on_disk: bytes of the disk after that entry, by offset and
    length in bytes. Of a pair whose sectors are written or discarded once more the disk tells nothing.
    """
    older: dict[int, int] = {}
    for pair in pairs:
        if _is_older(log, pair, on_disk):
            older.setdefault(pair.plain, pair.front)
    return list(older.items())


def _is_older(log: Log, pair: Suspect, on_disk: Callable[[int, int], bytes]) -> bool:
    front = _bytes_at(log, pair.front, pair.sectors)
    if any(_changes(log.summary(later), pair.sectors) for later in range(pair.plain + 1, len(log))):
        fua = log.summary(pair.front).flags & EntryFlag.FUA
        return bool(fua) and _has_older_stamps(_bytes_at(log, pair.plain, pair.sectors), front)
    return front == on_disk(pair.sectors.start * SECTOR_BYTES, len(pair.sectors) * SECTOR_BYTES)


def _has_older_stamps(plain: bytes, front: bytes) -> bool:
    """Whether both are stamped all over for the same place of a file, and each cell of plain by an earlier
    operation."""
    older, newer = (numpy.frombuffer(each, "<u2").reshape(-1, 4) for each in (plain, front))
    same = (older[:, 1:] == newer[:, 1:]).all() and (older[:, 1] == CELL_MAGIC).all()
    return bool(same and (older[:, 0] < newer[:, 0]).all())


def _changes(entry: EntrySummary, place: range) -> bool:
    if entry.flags & EntryFlag.MARK:
        return False
    return entry.sector < place.stop and place.start < entry.sector + entry.sector_count


def _bytes_at(log: Log, index: int, place: range) -> bytes:
    entry = log.entry(index)
    start = (place.start - entry.sector) * SECTOR_BYTES
    return entry.data[start : start + len(place) * SECTOR_BYTES]
