"""
A part of model O: so many disks of a long log, spread over all of it.

In:       a Log, or the summaries of its entries; how many disks may be recovered.
Out:      Prefixes: the states of model O that have one of these disks, in order; what share of all they are.
Not here: every prefix (crash.py), sharing a budget out (spread.py).

A disk is recovered once, whatever marks follow on the write that made it. So prefixes are taken by disk: with
each disk all prefixes that have it, for the last of them is the one that most was promised to. The windows
between two FLUSHes share the budget: what a filesystem writes in one go is one window, however long.
"""

from harness.states.crash import Entries, writes
from harness.states.spread import even, shares
from oracles.spec import State
from reports.results import Coverage
from workloads.entries import EntryFlag


class Prefixes:
    """states, in order. coverage: places are windows, space is disks."""

    def __init__(self, entries: Entries, budget: int) -> None:
        windows = _windows(entries)
        chosen: list[int] = []
        examined = whole = 0
        for window, share in zip(windows, shares([len(each) for each in windows], budget), strict=True):
            examined += share
            whole += share == len(window)
            for number in even(len(window), share):
                chosen += window[number]
        self.states = tuple(State(prefix) for prefix in chosen)
        space = sum(len(window) for window in windows)
        self.coverage = Coverage("O", len(windows), whole, examined, space)


def _windows(entries: Entries) -> list[list[range]]:
    """Of each window its disks, of each disk its prefixes."""
    windows: list[list[range]] = [[]]
    start = 0
    for index, entry in enumerate(entries):
        if writes(entry):
            windows[-1].append(range(start, index + 1))
            start = index + 1
        if entry.flags & EntryFlag.FLUSH and windows[-1]:
            windows.append([])
    windows[-1].append(range(start, len(entries) + 1))
    return windows
