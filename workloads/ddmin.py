"""
The fewest items that still do it: delta debugging.

In:       a list, and a question that it answers with yes.
Out:      a part of it, in order, that still does, and of which no single item can be left out.
Not here: what the items are (shrinking.py).

ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions on
Software Engineering 28 (2), 2002, section 3. Of its two questions only the second, "does it without this
chunk?", is asked: the first, "does this chunk alone?", is answered with no by nearly every workload, whose
first operations make what the last ones use. Libraries were looked at: picire's release is of 2021 and
brings process handling along, shrinkray and hypothesis shrink bytes and choices, thousands of them where a
question here costs a recording in a guest.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], still: Callable[[Sequence[T]], bool]) -> list[T]:
    """still(items) is taken for granted. Asks the same questions in the same order every time."""
    left = list(items)
    chunks = 2
    while left:
        chunks = min(chunks, len(left))
        edges = [len(left) * at // chunks for at in range(chunks + 1)]
        # From the end: what is done last depends on what was done first, seldom the other way round.
        for start, stop in reversed(list(itertools.pairwise(edges))):
            without = left[:start] + left[stop:]
            if without and still(without):
                left, chunks = without, max(chunks - 1, 2)
                break
        else:
            if chunks == len(left):
                return left
            chunks *= 2
    return left
