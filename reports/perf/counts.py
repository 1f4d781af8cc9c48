"""
Exact figures of A and B, side by side.

In:       Measured: recordings of one workload, counted calls.
Out:      Count after Count, each with whether the two kernels differ.
Not here: how they were counted (harness/perf/exact.py).
"""

from collections.abc import Sequence

import msgspec

from reports.perf.results import ExactSide, Measured, OperationFigures

# Name of the field, its words. FLUSH, FUA, bytes: reports/text/figures.py.
FIGURES = (
    ("log_commits", "log commits"),
    ("transaction_commits", "transaction commits"),
    ("flush", "FLUSH"),
    ("fua", "FUA"),
    ("bytes", "bytes"),
    ("metadata_bytes", "metadata bytes"),
)
BTRFS_ONLY = ("log_commits", "transaction_commits")


class Count(msgspec.Struct, frozen=True):
    """a, b: of all operations together, the same in each recording, else the least and the most.
    operations: how many there were; 0 for calls, which are of the whole workload."""

    name: str
    operations: int
    a: tuple[int, int]
    b: tuple[int, int]

    @property
    def differs(self) -> bool:
        """Whatever the recording."""
        return self.a[1] < self.b[0] or self.b[1] < self.a[0]


def counts(measured: Measured) -> tuple[Count, ...]:
    """None where either kernel has none."""
    a, b = measured.exact_a, measured.exact_b
    found = []
    if a.recordings and b.recordings:
        names = [one for one in FIGURES if _applies(one[0], measured)]
        for index, first in enumerate(a.recordings[0]):
            found += [
                Count(
                    f"{words} by {first.word}", first.count, _spread(a, index, name), _spread(b, index, name)
                )
                for name, words in names
            ]
    if a.calls and b.calls:
        found += [Count(_title(name), 0, _calls(a, name), _calls(b, name)) for name in a.calls[0]]
    return tuple(found)


def _applies(name: str, measured: Measured) -> bool:
    return name not in BTRFS_ONLY or measured.experiment.filesystem == "btrfs"


def _spread(side: ExactSide, index: int, name: str) -> tuple[int, int]:
    figures: Sequence[OperationFigures] = [recording[index] for recording in side.recordings]
    values = [getattr(one, name) for one in figures]
    return min(values), max(values)


def _calls(side: ExactSide, name: str) -> tuple[int, int]:
    values = [each[name] for each in side.calls]
    return min(values), max(values)


def _title(name: str) -> str:
    if " > " in name:
        caller, _, called = name.partition(" > ")
        return f"{called}() from {caller}()"
    if " @ " in name:
        function, _, line = name.partition(" @ ")
        return f'{function}(), line "{line}"'
    return f"{name}()"


def words(value: tuple[int, int]) -> str:
    least, most = value
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def per_operation(count: Count) -> str:
    """ "1.00 -> 0.00", "" for calls."""
    if not count.operations:
        return ""
    return f"{count.a[1] / count.operations:,.2f} -> {count.b[1] / count.operations:,.2f}"
