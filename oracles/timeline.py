"""
A value as it changed over time.

In:       (time, value) pairs, in order.
Out:      the value at a time; every value it had between two times.
Not here: what a time is (model.py).
"""

from bisect import bisect_right
from typing import Generic, TypeVar

T = TypeVar("T")


class Timeline(Generic[T]):
    """Starts with `first` at time `start` and keeps only changes."""

    __slots__ = ("times", "values")

    def __init__(self, start: int, first: T) -> None:
        self.times: list[int] = [start]
        self.values: list[T] = [first]

    def fork(self) -> "Timeline[T]":
        copy: Timeline[T] = Timeline.__new__(Timeline)
        copy.times, copy.values = list(self.times), list(self.values)
        return copy

    def change(self, time: int, value: T) -> None:
        assert time >= self.times[-1], "time runs forward"
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
        """Every value of the times first to last, oldest first; not to be changed."""
        if len(self.values) == 1:
            return self.values
        begin = max(bisect_right(self.times, first) - 1, 0)
        return self.values[begin : max(bisect_right(self.times, last), begin + 1)]

    def changes(self, after: int, last: int) -> list[tuple[int, T, T]]:
        """(time, value before, value after) for each change at a time in (after, last]."""
        begin = max(bisect_right(self.times, after), 1)
        end = bisect_right(self.times, last)
        return [(self.times[i], self.values[i - 1], self.values[i]) for i in range(begin, end)]
