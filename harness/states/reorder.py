"""
Model R: the device wrote its cache back in another order, and the power failed before it was done.

In:       the entries of a log, a budget of states, a seed.
Out:      State after State with volatile writes of the last window lost; Coverage: how many of all those are.
Not here: which writes are volatile (crash.py), the disks (rebuild.py).

A cut with n volatile writes has 2^n states, one for each subset that is lost. Those that are a prefix of the
log are model O's. The rest are all examined where they fit the cut's share of the budget; elsewhere each
write lost alone, all but each one, and then subsets drawn at random, from few lost to many.
"""

import itertools
import math
import random
from collections.abc import Iterator, Sequence

from harness.states.crash import Cut, Entries, cuts, writes
from harness.states.spread import UNBOUNDED, even, shares
from oracles.spec import State
from reports.results import Coverage

LOSSES = (0.1, 0.5, 0.9)  # shares of a window's writes that a draw loses, in turn
LONG_WRITES = 256  # of a window, from which on a draw is a few of them
WHOLE_WRITES = 30  # more subsets than fit any budget


class Reordering:
    """states() of a log, and how much of all there are that is."""

    def __init__(self, entries: Entries, budget: int, seed: int) -> None:
        self._entries = entries
        self._seed = seed
        counts = [(len(cut.volatile), ordered_count(cut, entries)) for cut in cuts(entries)]
        wanted = [(1 << min(n, WHOLE_WRITES)) - ordered for n, ordered in counts]
        self._shares = shares([min(each, UNBOUNDED) for each in wanted], budget)
        self.count = sum(self._shares)
        given = list(zip(counts, wanted, self._shares, strict=True))
        self.coverage = Coverage(
            model="R",
            places=len(counts),
            whole=sum(share == each for _, each, share in given),
            examined=sum(share + ordered for (_, ordered), _, share in given),
            space_bits=_bits([n for n, _ in counts]),
        )

    def states(self) -> Iterator[State]:
        """Cut after cut, so disks go forward."""
        for cut, share in zip(cuts(self._entries), self._shares, strict=True):
            draw = random.Random(f"{self._seed} {cut.prefix}")
            for lost in subsets(cut, share, self._entries, draw):
                yield State(cut.prefix, lost=lost)


def _bits(sizes: Sequence[int]) -> float:
    """log2 of the sum of 2^n: no float holds the sum itself."""
    if not sizes:
        return 0.0
    top = max(sizes)
    return top + math.log2(sum(2.0 ** (size - top) for size in sizes))


def first_ordered(cut: Cut, entries: Entries) -> int:
    """From this one of its volatile writes on, nothing else lies before the cut that changes the disk, and no
    mark, which makes it another moment."""
    at = len(cut.volatile)
    for index in range(cut.prefix - 1, cut.start - 1, -1):
        if at and cut.volatile[at - 1] == index:
            at -= 1
        elif writes(entries[index]) or entries[index].mark:
            break
    return at


def ordered_count(cut: Cut, entries: Entries) -> int:
    """How many of its subsets leave a prefix of the log: nothing lost, or the last ones alone."""
    return len(cut.volatile) - first_ordered(cut, entries) + 1


def subsets(cut: Cut, share: int, entries: Entries, draw: random.Random) -> Iterator[tuple[int, ...]]:
    """`share` different ones that are no prefix of the log."""
    volatile = cut.volatile
    ordered = {volatile[at:] for at in range(first_ordered(cut, entries), len(volatile) + 1)}
    if not share:
        return
    if len(volatile) <= WHOLE_WRITES and (1 << len(volatile)) - len(ordered) <= 2 * share:
        every = [lost for lost in _all(volatile) if lost not in ordered]
        yield from every if len(every) <= share else [every[number] for number in even(len(every), share)]
        return
    done = set(ordered)
    for lost in itertools.chain(_single(volatile, share), _drawn(volatile, draw)):
        if lost not in done:
            done.add(lost)
            yield lost
            share -= 1
            if not share:
                return


def _all(volatile: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Few lost first."""
    return itertools.chain.from_iterable(
        itertools.combinations(volatile, size) for size in range(1, len(volatile) + 1)
    )


def _single(volatile: tuple[int, ...], share: int) -> Iterator[tuple[int, ...]]:
    """Each alone, then all but each, for two thirds of the share when there are more."""
    count = len(volatile)
    chosen = even(count, max(1, share // 3)) if 3 * count > share else range(count)
    for number in chosen:
        yield (volatile[number],)
    for number in chosen:
        yield volatile[:number] + volatile[number + 1 :]


def _drawn(volatile: tuple[int, ...], draw: random.Random) -> Iterator[tuple[int, ...]]:
    """Of a long window few are lost, or few are not: a name that tells of thousands is of no use."""
    if len(volatile) <= LONG_WRITES:
        for loss in itertools.cycle(LOSSES):
            yield tuple(index for index in volatile if draw.random() < loss)
    while True:
        few = set(draw.sample(volatile, draw.randrange(2, LONG_WRITES // 2)))
        yield tuple(sorted(few))
        yield tuple(index for index in volatile if index not in few)
