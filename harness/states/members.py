"""
Model M: of several devices one is behind the others, is gone, or comes back as it was.

In:       the entries of a log, its devices, whether any one device may be lost; a budget of states.
Out:      State after State; Coverage; absent(), what is zeroed of a device that is gone.
Not here: which writes are volatile, what a state lacks by its name (crash.py), the disks (rebuild.py).

Each device has a cache of its own, and each FLUSH empties one. So at a cut a device may lack all that was
written to it since its own last FLUSH, while the others have theirs (*late*). Where the filesystem keeps
everything twice, a device may also be gone, its superblocks zeroed: by itself, and while another is late.

Examined are the cuts of model R: there the most is volatile. A device that comes back as it was after an
earlier entry (*old*) lost what it had called durable; no filesystem promises anything of that, and only who
names such a state gets it (docs/findings/device-assumptions.md).
"""

from collections.abc import Iterator

from harness.states.crash import Cut, Entries, cuts
from harness.states.devices import Places
from harness.states.disk import BLOCK_BYTES
from harness.states.spread import even
from oracles.spec import GONE, LATE, State
from reports.results import Coverage

# Of btrfs: BTRFS_SUPER_INFO_OFFSET and btrfs_sb_offset() in fs/btrfs; a third copy lies at 256 GiB.
SUPERBLOCKS_AT = (64 << 10, 64 << 20)


class Members:
    """states() of a log, and how many of all there are that is. redundant: any one device may be lost."""

    def __init__(self, entries: Entries, places: Places | None, redundant: bool, budget: int) -> None:
        found = list(_all(entries, places, redundant)) if places else []
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
