"""
A budget, and what it is spread over.

In:       how many states each place wants, and how many there may be in all.
Out:      how many each place gets; numbers spread over a range.
Not here: what the places are (reorder.py: cuts; tear.py: writes; nested.py: recoveries).
"""

from array import array
from collections.abc import Sequence

UNBOUNDED = (1 << 31) - 1


def shares(wanted: Sequence[int], budget: int) -> "array[int]":
    """
    No place gets more than it wants, none is left out while another gets two more than it, and all of the
    budget is used while anything is wanted. With more places than budget, every so many-th gets one.
    """
    given = array("l", bytes(8 * len(wanted)))
    open_places = [place for place, count in enumerate(wanted) if count]
    if len(open_places) > budget:
        for number in even(len(open_places), budget):
            given[open_places[number]] = 1
        return given
    left = budget
    open_places.sort(key=lambda place: (wanted[place], place))
    for number, place in enumerate(open_places):
        given[place] = min(wanted[place], left // (len(open_places) - number))
        left -= given[place]
    return given


def even(count: int, wanted: int) -> list[int]:
    """`wanted` of the numbers from 0 to count - 1, the first and the last among them, evenly apart."""
    if wanted >= count:
        return list(range(count))
    if wanted < 2:
        return [count // 2][:wanted]
    return [number * (count - 1) // (wanted - 1) for number in range(wanted)]
