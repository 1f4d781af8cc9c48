"""
Model M: of several devices one is behind the others, is gone, or comes back as it was.

In:       a log, its devices, whether any one device may be lost, whether copies have checksums; a budget of
          states.
Out:      State after State; Coverage; absent(), what is zeroed of a device that is gone.
Not here: which writes are volatile, what a state lacks by its name (crash.py), the disks (rebuild.py).

Each device has a cache of its own, and each FLUSH empties one. So at a cut a device may lack all that was
written to it since its own last FLUSH, while the others have theirs (*late*). Where the filesystem keeps
everything twice, a device may also be gone, its superblocks zeroed: by itself, and while another is late.

Examined are the cuts of model R: there the most is volatile.

Where the filesystem keeps everything twice, a device may also come back as it was after an earlier entry
(*old*): it was away, and the filesystem went on without it. btrfs sees that by the generation of its
superblock, so examined are two such moments for each superblock that was written, the first and the last at
which the device had an older one. Of a device with the same generation nothing is promised
(docs/findings/device-assumptions.md), nor of copies without checksums; only who names such a state gets it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from harness.states.crash import Cut, Entries, cuts, sent
from harness.states.devices import Places
from harness.states.disk import BLOCK_BYTES
from harness.states.log import Log
from harness.states.spread import even
from harness.states.superblock import Generation, generations
from oracles.spec import GONE, LATE, State
from reports.results import Coverage

# Of btrfs: BTRFS_SUPER_INFO_OFFSET and btrfs_sb_offset() in fs/btrfs; a third copy lies at 256 GiB.
SUPERBLOCKS_AT = (64 << 10, 64 << 20)


class Members:
    """states() of a log, and how many of all there are that is. redundant: any one device may be lost.
    checked: what it keeps has checksums, all of it."""

    def __init__(
        self, log: Log, places: Places | None, redundant: bool, budget: int, checked: bool = True
    ) -> None:
        found = list(_all(log, places, redundant)) if places else []
        if places and redundant and checked:
            found += _returned(log, places)
        self._chosen = [found[number] for number in even(len(found), budget)]
        self.count = len(self._chosen)
        self.coverage = Coverage(
            model="M",
            places=len({state.prefix for state in found}),
            whole=len({state.prefix for state in found}) if self.count == len(found) else 0,
            examined=self.count,
            space=len(found),
        )

    def states(self) -> Iterator[State]:
        """By what the devices are, and then cut after cut: so disks go forward."""
        return iter(self._chosen)


def _all(entries: Entries, places: Places, redundant: bool) -> Iterator[State]:
    found = list(cuts(entries))
    devices = range(places.count)
    for device in devices:
        for cut in found:
            if lost := _late(cut, device, entries):
                yield State(cut.prefix, lost=lost, members=((device, LATE),))
    if not redundant:
        return
    for device in devices:
        for cut in found:
            yield State(cut.prefix, members=((device, GONE),))
        for other in devices:
            for cut in found:
                if other != device and (lost := _late(cut, other, entries)):
                    yield State(cut.prefix, lost=lost, members=((device, GONE), (other, LATE)))


def _returned(log: Log, places: Places) -> Iterator[State]:
    """Behind each superblock, and at the end. The first of the earlier moments is that of an empty log."""
    written = defaultdict(list)
    for one in generations(log, places):
        written[one.device].append(one)
    if len(written) < places.count:
        return
    moments = (0, *(cut.prefix for cut in cuts(log)))
    behind = sorted({one.entry + 1 for of in written.values() for one in of} | {len(log)})
    for device in range(places.count):
        others = [of for at, of in written.items() if at != device]
        for prefix in behind:
            newest = max(_generation(of, prefix) for of in others)
            earlier = [
                since for since in moments if since < prefix and _generation(written[device], since) < newest
            ]
            for since in dict.fromkeys((*earlier[:1], *earlier[-1:])):
                if lost := sent(log, device, since, prefix):
                    yield State(prefix, lost=lost, members=((device, since),))


def _generation(written: Sequence[Generation], prefix: int) -> int:
    """Of the device whose superblocks these are, after so many entries."""
    number = bisect_left(written, prefix, key=lambda one: one.entry)
    if number:
        return written[number - 1].number
    return written[0].number - (not written[0].logs)


def _late(cut: Cut, device: int, entries: Entries) -> tuple[int, ...]:
    return tuple(index for index in cut.volatile if entries[index].device == device)


def absent(state: State, places: Places) -> Iterator[int]:
    """Blocks of the disk that are zeroed."""
    for device, since in state.members:
        if since == GONE:
            sectors = places.sectors_of(device)
            for at in SUPERBLOCKS_AT:
                if at < len(sectors) * 512:
                    yield (sectors.start * 512 + at) // BLOCK_BYTES
