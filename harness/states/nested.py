"""
Model N: the power failed again while the filesystem recovered.

In:       the logs of recoveries, as recorded by dm-log-writes; a budget of states.
Out:      State after State; Coverage: how many of all those are; Recoveries, the logs that are kept.
Not here: recording them (recover.py), the disks (rebuild.py).

Most states of a log recover by the same writes to the same places: of those alike in that one stands for
all, the last, to which most was promised, and the budget is spread over those that differ.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness.states.crash import writes
from harness.states.log import Log, open_log, write_log
from harness.states.spread import even, shares
from oracles.spec import State
from reports.results import Coverage
from workloads.entries import EntrySummary

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
    alike: int


class Recoveries:
    """The logs of recoveries that differ, as files of a folder. States are added in their order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recorded = 0
        self._kept: dict[bytes, Kept] = {}  # by shape

    @property
    def kept(self) -> list[Kept]:
        return sorted(self._kept.values(), key=lambda kept: kept.outer.prefix)

    def add(self, outer: State, log: Log, end: int) -> None:
        """The first `end` entries are the log of this state's recovery."""
        self.recorded += 1
        entries = [log.summary(index) for index in range(end)]
        if not any(writes(entry) for entry in entries):
            return
        key = shape(entries)
        before = self._kept.get(key)
        if before is not None:
            (self.folder / file_name(before.outer)).unlink()
        self.folder.mkdir(exist_ok=True)
        write_log(self.folder / file_name(outer), log.entries(0, end))
        self._kept[key] = Kept(outer, before.alike + 1 if before else 1)


class Nesting:
    """states() of recoveries, and how much of all there are that is."""

    def __init__(self, recoveries: Recoveries, budget: int) -> None:
        self._kept = recoveries.kept
        self._prefixes = [changing(recoveries.folder / file_name(kept.outer)) for kept in self._kept]
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
        for kept, prefixes, share in zip(self._kept, self._prefixes, self._shares, strict=True):
            for number in even(len(prefixes), share):
                yield msgspec.structs.replace(kept.outer, nested=prefixes[number])


def changing(path: Path) -> list[int]:
    """The prefixes whose last entry changes the disk; before the first it is the outer state."""
    with open_log(path) as log:
        return [index + 1 for index in range(len(log)) if writes(log.summary(index))]
