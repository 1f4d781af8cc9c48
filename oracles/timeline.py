"""
A value as it changed over time.

In:       (time, value) pairs, in order; values that it may have had beside them.
Out:      the value at a time; every value it had, or may have had, between two times.
Not here: what a time is (model.py).
"""

from bisect import bisect_right
from math import inf
from typing import Generic, TypeVar

T = TypeVar("T")


class Timeline(Generic[T]):
    """Starts with `first` at time `start` and keeps only changes.

    beside: (since, until, value): values of calls that failed, which may have had their effect all the same,
    from `since` on and before `until`.
    """

    __slots__ = ("beside", "times", "values")

    def __init__(self, start: int, first: T) -> None:
        self.times: list[int] = [start]
        self.values: list[T] = [first]
        self.beside: tuple[tuple[int, float, T], ...] = ()

    def fork(self) -> "Timeline[T]":
        copy: Timeline[T] = Timeline.__new__(Timeline)
        copy.times, copy.values, copy.beside = list(self.times), list(self.values), self.beside
        return copy

    def maybe(self, time: int, value: T) -> None:
        """From then on it may have this value, too, until it is next changed for certain."""
        self.beside = (*self.beside, (time, inf, value))

    def passing(self, time: int, value: T) -> None:
        """It may have had this value while it changed, and has it no more from that time on."""
        self.beside = (*self.beside, (time, time, value))

    def change(self, time: int, value: T) -> None:
        assert time >= self.times[-1], "time runs forward"
        if self.beside:
            self.beside = tuple((since, min(until, time), each) for since, until, each in self.beside)
        if value == self.values[-1]:
            return
        if time == self.times[-1]:
            self.values[-1] = value
            return
        self.times.append(time)
        self.values.append(value)

    @property
    def start(self) -> int:
        return self.times[0]

    @property
    def last(self) -> T:
        return self.values[-1]

    def at(self, time: int) -> T:
        """The value at `time`; the first one before the start."""
        if len(self.values) == 1:
            return self.values[0]
        return self.values[max(bisect_right(self.times, time) - 1, 0)]

    def within(self, first: int, last: int) -> list[T]:
        """Every value of the times first to last, oldest first, then what it may have been beside them; not
        to be changed."""
        if len(self.values) == 1 and not self.beside:
            return self.values
        begin = max(bisect_right(self.times, first) - 1, 0)
        values = self.values[begin : max(bisect_right(self.times, last), begin + 1)]
        return [*values, *self.maybe_within(first, last)] if self.beside else values

    def maybe_within(self, first: int, last: int) -> list[T]:
        """The values beside, of the times first to last."""
        return [value for since, until, value in self.beside if since <= last and first < until]

    def had(self, value: T, first: int, last: int) -> bool:
        """Whether it is one of within(), which is not copied for that; it is mostly one of the latest."""
        values, begin = self.values, max(bisect_right(self.times, first) - 1, 0)
        place = max(bisect_right(self.times, last), begin + 1) - 1
        while place >= begin:
            if values[place] == value:
                return True
            place -= 1
        return bool(self.beside) and value in self.maybe_within(first, last)

    def changes(self, after: int, last: int) -> list[tuple[int, T, T]]:
        """(time, value before, value after) for each change at a time in (after, last]."""
        begin = max(bisect_right(self.times, after), 1)
        end = bisect_right(self.times, last)
        return [(self.times[i], self.values[i - 1], self.values[i]) for i in range(begin, end)]
