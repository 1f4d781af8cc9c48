"""
Atomic writes: all bytes of one are there, or none.

In:       a Case, a recovered file.
Out:      the first of its atomic writes that is there in part.
Not here: whether it had to be there already (durable), bytes that nobody wrote (historical).
"""

from typing import NamedTuple

from oracles.case import Case
from oracles.content import ZERO, Difference, clipped, first_difference, merged_pieces, size_of
from oracles.observation import Node


class Torn(NamedTuple):
    """time: after the write. new, old: the first byte that only it can have written, and the first one that
    only an earlier call can have left; None: the file ends before the write does."""

    time: int
    new: Difference
    old: Difference | None


def torn(case: Case, inode: int, node: Node) -> Torn | None:
    model, allowed, line = case.model, case.allowed, case.model.content[inode]
    if not allowed.told(inode):
        return None
    for time, of, start, end in model.whole:
        if of != inode or time > allowed.now:
            continue
        stamp = model.steps[time - 1].index + 1
        others = [
            piece._replace(sources=frozenset(each for each in piece.sources if each.stamp != stamp) | {ZERO})
            for piece in clipped(merged_pieces(line.within(line.start, allowed.now), 0), start, end)
        ]
        new = first_difference(node.content, others, node.size)
        if new is None:
            continue
        old = first_difference(node.content, clipped(allowed.pieces(inode, time), start, end), node.size)
        sizes = [size_of(content) for content in line.within(time, allowed.now)]
        if old is not None or node.size < min([end, *sizes]):
            return Torn(time, new, old)
    return None
