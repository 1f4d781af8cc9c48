"""
Model N: the power failed again while the filesystem recovered.

In:       the logs of recoveries, as recorded by dm-log-writes; a budget of states.
Out:      State after State; Coverage: how many of all those are; Recoveries, the logs that are kept.
Not here: recording them (recover.py), the disks (rebuild.py).

Most states of a log recover by the same writes to the same places: of those alike in that one stands for
all, the first, and the budget is spread over those that differ.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness.crash import State, writes
from harness.log import Log, open_log, write_log
from harness.spread import even, shares
from reports.results import Coverage, EntrySummary

FOLDER = "recoveries"


def shape(entries: Sequence[EntrySummary]) -> bytes:
    """Equal for recoveries that write the same places in the same order; times and generations differ."""
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(b"%d %d %d %s\n" % (entry.flags, entry.sector, entry.sector_count, entry.mark.encode()))
    return digest.digest()


def file_name(outer: State) -> str:
    """Of the log of this state's recovery."""
    return outer.spec.replace(":", "-").replace("/", "_") + ".log"


class Kept(msgspec.Struct, frozen=True):
    """A recovery whose log is kept. alike: states that recovered so, itself among them."""

    outer: State
    entry_count: int
    alike: int


class Recoveries:
    """The logs of recoveries that differ, as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept: list[Kept] = []
        self._shapes: dict[bytes, int] = {}
        self.recorded = 0

    def add(self, outer: State, log: Log, end: int) -> bool:
        """The first `end` entries are the log of this state's recovery; whether it is unlike all before."""
        self.recorded += 1
        entries = [log.summary(index) for index in range(end)]
        if not any(writes(entry) for entry in entries):
            return False
        number = self._shapes.setdefault(shape(entries), len(self.kept))
        if number < len(self.kept):
            known = self.kept[number]
            self.kept[number] = msgspec.structs.replace(known, alike=known.alike + 1)
            return False
        self.folder.mkdir(exist_ok=True)
        write_log(self.folder / file_name(outer), log.entries(0, end))
        self.kept.append(Kept(outer, end, 1))
        return True


class Nesting:
    """states() of recoveries, and how much of all there are that is."""

    def __init__(self, recoveries: Recoveries, budget: int) -> None:
        self._recoveries = recoveries
        self._prefixes = [changing(recoveries.folder / file_name(kept.outer)) for kept in recoveries.kept]
        wanted = [len(prefixes) for prefixes in self._prefixes]
        self._shares = shares(wanted, budget)
        self.count = sum(self._shares)
        self.coverage = Coverage(
            model="N",
            places=len(wanted),
            whole=sum(share == each for share, each in zip(self._shares, wanted, strict=True)),
            examined=self.count,
            space=sum(wanted),
            recorded=recoveries.recorded,
        )

    def states(self) -> Iterator[State]:
        for kept, prefixes, share in zip(self._recoveries.kept, self._prefixes, self._shares, strict=True):
            for number in even(len(prefixes), share):
                yield msgspec.structs.replace(kept.outer, nested=prefixes[number])


def changing(path: Path) -> list[int]:
    """The prefixes whose last entry changes the disk; before the first it is the outer state."""
    with open_log(path) as log:
        return [index + 1 for index in range(len(log)) if writes(log.summary(index))]
