"""
Model T: the power failed in the middle of a write, and only its first sectors are on the disk.

In:       the entries of a log, the profile's atomic unit, a budget of states.
Out:      State after State; Coverage: how many of all those are.
Not here: which writes are volatile (crash.py), the disks (rebuild.py).

Two places where a write may be torn: as the last one of a prefix, FUA or not, for it was on its way; and
alone in its window, a volatile one that was being written back when all others of the window were.
"""

from array import array
from collections.abc import Iterator

import msgspec

from harness.states.crash import Entries, cuts, is_volatile, writes
from harness.states.spread import UNBOUNDED, even, shares
from oracles.spec import State
from reports.results import Coverage
from workloads.entries import EntryFlag, EntrySummary


class Place(msgspec.Struct, frozen=True):
    """A write that can be torn, and the prefix it is torn in."""

    prefix: int
    entry: int


class Tearing:
    """states() of a log, and how much of all there are that is. unit_sectors: never torn themselves."""

    def __init__(self, entries: Entries, unit_sectors: int, budget: int) -> None:
        self._entries = entries
        self._unit = unit_sectors
        wanted = array("l")
        wanted.extend(
            min(len(boundaries(entries[place.entry], unit_sectors)), UNBOUNDED) for place in places(entries)
        )
        self._shares = shares(wanted, budget)
        self.count = sum(self._shares)
        self.coverage = Coverage(
            model="T",
            places=sum(each > 0 for each in wanted),
            whole=sum(share == each > 0 for share, each in zip(self._shares, wanted, strict=True)),
            examined=self.count,
            space=sum(wanted),
            unit_bytes=unit_sectors * 512,
        )

    def states(self) -> Iterator[State]:
        """Cut after cut, so disks go forward."""
        for place, share in zip(places(self._entries), self._shares, strict=True):
            possible = boundaries(self._entries[place.entry], self._unit)
            for number in even(len(possible), share):
                yield State(place.prefix, torn=place.entry, sectors=possible[number])


def places(entries: Entries) -> Iterator[Place]:
    """Window after window: its writes as the last of their prefixes, then each among all of its window."""
    waiting = iter(cuts(entries))
    cut = next(waiting, None)
    for index, entry in enumerate(entries):
        while cut is not None and cut.prefix <= index:
            yield from _among(cut.prefix, cut.volatile, entries)
            cut = next(waiting, None)
        if _has_data(entry):
            yield Place(index + 1, index)
    if cut is not None:
        yield from _among(cut.prefix, cut.volatile, entries)


def _among(prefix: int, volatile: tuple[int, ...], entries: Entries) -> Iterator[Place]:
    for index in volatile:
        if index != prefix - 1 and is_volatile(entries[index]) and _has_data(entries[index]):
            yield Place(prefix, index)


def _has_data(entry: EntrySummary) -> bool:
    return writes(entry) and not entry.flags & EntryFlag.DISCARD


def boundaries(entry: EntrySummary, unit_sectors: int) -> range:
    """Where the write may be cut, in sectors of it: the device's units lie at multiples of their size."""
    first = unit_sectors - entry.sector % unit_sectors
    return range(first, entry.sector_count, unit_sectors)
