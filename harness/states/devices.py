"""
Several devices of one filesystem on one disk: which of them a sector is of.

In:       the sizes of the devices, as a profile has them, or the first mark of a kept log.
Out:      Places; the text of that mark, and back.
Not here: whose each FLUSH of a recording was (flushes.py), the devices of a guest (guests/agent/slices.c).

The devices lie one behind the other, so one log has all their writes in one order. Behind them is a block to
which FLUSHes are told (kernel/dm-powercut-slice.c).
"""

import bisect
import itertools
from collections.abc import Iterable, Sequence

from workloads.entries import ALL_DEVICES

MARK = "devices "
TOLD_BYTES = 4096  # behind the devices


def sizes_text(sectors: Iterable[int]) -> str:
    """As the mark has them behind MARK, and the agent: "262144+262144"."""
    return "+".join(map(str, sectors))


class Places:
    """Of devices of so many sectors. starts: the first sector of each, and the one behind them all."""

    def __init__(self, sectors: Sequence[int]) -> None:
        self.starts = (0, *itertools.accumulate(sectors))

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @property
    def end(self) -> int:
        return self.starts[-1]

    def device_at(self, sector: int) -> int:
        """ALL_DEVICES for what lies behind them."""
        return ALL_DEVICES if sector >= self.end else bisect.bisect_right(self.starts, sector) - 1

    def sectors_of(self, device: int) -> range:
        return range(self.starts[device], self.starts[device + 1])


def places_of(mark: str) -> Places | None:
    """Of the first mark of a log; None where there is one device. Errors: ValueError."""
    if not mark.startswith(MARK):
        return None
    return Places([int(each) for each in mark.removeprefix(MARK).split("+")])
