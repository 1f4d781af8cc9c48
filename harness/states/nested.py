"""
Models N and A: the power failed again while the filesystem recovered, or when it had been used then.

In:       the logs of recoveries, as recorded by dm-log-writes, in model A with what the filesystem was used
          for; a budget of states.
Out:      State after State; Coverage: how many of all those are; Recoveries, the logs that are kept.
Not here: recording them (recover.py), the disks (rebuild.py).

Most states of a log recover by the same writes to the same places: of those alike in that one stands for
all, the last, to which most was promised, and the budget is spread over those that differ.
"""

import hashlib
from bisect import bisect_left
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
# Marks (harness/guests/agent/afterwards.c): the mount returned; a step of what followed was done; all was.
RECOVERED, STEP, USED = "mounted", "after-", "after"


def shape(entries: Sequence[EntrySummary]) -> bytes:
    """Equal for recoveries that write the same places in the same order; times and generations differ."""
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(b"%d %d %d %s\n" % (entry.flags, entry.sector, entry.sector_count, entry.mark.encode()))
    return digest.digest()


def file_name(state: State) -> str:
    """Of the log of the recovery that this state cuts."""
    kind = "A-" if state.again else ""
    return kind + state.outer.spec.replace(":", "-").replace("/", "_") + ".log"


def report_name(state: State) -> str:
    """Of what the agent told of that recovery, in model A."""
    return f"{file_name(state).removesuffix('.log')}.json"


class Kept(msgspec.Struct, frozen=True):
    """A recovery whose log is kept. state: of all its entries. alike: states that recovered so, itself among
    them."""

    state: State
    alike: int


class Recoveries:
    """The logs of recoveries that differ, as files of a folder. States are added in their order. again: with
    what the filesystem was used for."""

    def __init__(self, folder: Path, again: bool = False) -> None:
        self.folder = folder
        self.again = again
        self.recorded = 0
        self._kept: dict[bytes, Kept] = {}  # by shape

    @property
    def kept(self) -> list[Kept]:
        return sorted(self._kept.values(), key=lambda kept: kept.state.prefix)

    def add(self, outer: State, log: Log, end: int, report: bytes = b"") -> None:
        """The first `end` entries are the log of this state's recovery. report: what the agent told of it, in
        model A."""
        self.recorded += 1
        entries = [log.summary(index) for index in range(end)]
        if not any(writes(entry) for entry in entries):
            return
        key = shape(entries)
        before = self._kept.get(key)
        if before is not None:
            (self.folder / file_name(before.state)).unlink()
            (self.folder / report_name(before.state)).unlink(missing_ok=True)
        self.folder.mkdir(exist_ok=True)
        state = msgspec.structs.replace(outer, nested=end, again=self.again)
        write_log(self.folder / file_name(state), log.entries(0, end))
        if report:
            (self.folder / report_name(state)).write_bytes(report)
        self._kept[key] = Kept(state, before.alike + 1 if before else 1)


class Nesting:
    """states() of recoveries, and how much of all there are that is."""

    def __init__(self, recoveries: Recoveries, budget: int) -> None:
        self._kept = recoveries.kept
        self._prefixes = [changing(recoveries.folder, kept.state) for kept in self._kept]
        wanted = [len(prefixes) for prefixes in self._prefixes]
        self._shares = shares(wanted, budget)
        self.count = sum(self._shares)
        self.coverage = Coverage(
            model="A" if recoveries.again else "N",
            places=len(wanted),
            whole=sum(share == each for share, each in zip(self._shares, wanted, strict=True)),
            examined=self.count,
            space=sum(wanted),
            recorded=recoveries.recorded,
        )

    def states(self) -> Iterator[State]:
        for kept, prefixes, share in zip(self._kept, self._prefixes, self._shares, strict=True):
            for number in even(len(prefixes), share):
                yield msgspec.structs.replace(kept.state, nested=prefixes[number])


def changing(folder: Path, state: State) -> list[int]:
    """The prefixes whose last entry changes the disk; before the first it is the outer state. In model A
    those behind the end of the recovery, which model N has."""
    with open_log(folder / file_name(state)) as log:
        start = log.mark_index(RECOVERED) if state.again else 0
        return [index + 1 for index in range(start, len(log)) if writes(log.summary(index))]


class Used:
    """What had been done by then, for the states of model A. folder: of Recoveries."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[str, bytes, list[int]] = "", b"", []  # of the last recovery

    def told(self, state: State) -> bytes:
        """A JSON object: oracles/observation.py After."""
        name = file_name(state)
        if name != self._known[0]:
            with open_log(self._folder / name) as log:
                marks = [log.summary(index).mark for index in range(len(log))]
            steps = [index for index, mark in enumerate(marks) if mark.startswith(STEP)]
            self._known = name, (self._folder / report_name(state)).read_bytes(), steps
        _, report, steps = self._known
        done = bisect_left(steps, state.nested)
        return b'{"done":%d,"seen":%b}' % (done, report)
