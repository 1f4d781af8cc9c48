"""
Whose each FLUSH was, of a log of several devices.

In:       the entries of a recording below slices (kernel/dm-powercut-slice.c), the sizes of the devices.
Out:      told_apart(): the entries as they are kept, each FLUSH that of one device.
Not here: which device a sector is of (devices.py), what is volatile (crash.py).

A FLUSH has no place in a log. So the slices tell of each by a write of their own sector behind all devices.
It comes after the FLUSH, and is on the disk before the filesystem hears of that. The FLUSH of the device is
put in its place, and the others go: what stands before a FLUSH of another device is not durable by that one.
What came between the two is taken for durable where it may not be; so no state is examined that could not be.

A kept log begins with a mark that has the sizes. A FLUSH has the first sector of its device; where nothing
was told, as in a kernel without the target, each is one of all devices, and has the sector behind them.
"""

from collections.abc import Iterable, Iterator, Sequence

from harness.states.devices import MARK, Places, sizes_text
from harness.states.log import Entry
from workloads.entries import EntryFlag, EntrySummary


def told_apart(entries: Iterable[Entry], sectors: Sequence[int], tells: bool) -> Iterator[Entry]:
    """The mark, and the entries. tells: as is_told() says."""
    places = Places(sectors)
    yield Entry(0, 0, EntryFlag.MARK, mark=MARK + sizes_text(sectors))
    for entry in entries:
        if entry.flags & EntryFlag.MARK or (entry.sector_count > 0 and entry.sector < places.end):
            yield entry
        elif entry.sector_count:
            yield Entry(places.starts[entry.sector - places.end], 0, EntryFlag.FLUSH)
        elif not tells:
            yield Entry(places.end, 0, entry.flags)


def is_told(entries: Iterable[EntrySummary], sectors: Sequence[int]) -> bool:
    """Whether FLUSHes of a log are told of."""
    end = sum(sectors)
    return any(entry.sector_count and entry.sector >= end for entry in entries)
