"""
What a Model is asked by name, number or place in time, found without looking at all of it.

In:       a Model that is built.
Out:      index_of(): its Index, made once.
Not here: the Model itself (model.py), which of its times a crash may show (allowed.py).

A history of thousands of operations is judged at thousands of cuts. What a cut asks is about the few names of
its tree and the few calls since the last one, and so it must not cost a look at every call there ever was.
"""

import functools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from oracles.model.model import Model, Rename, Slot
from oracles.timeline import Timeline


class Led(NamedTuple):
    """An object that a name led to. since: the first time it did."""

    inode: int
    since: float


class Placed(NamedTuple):
    """A rename with its place in Model.renames."""

    place: int
    rename: Rename


class Index:
    """changed: each object whose names run changed, to its place in the order in which that first happened.
    renamed: the renames of an object. replacing: renames over something, by the name that was taken.
    called: (time - 1, word) of every call on an inode number."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._led: dict[Slot, dict[int, float]] = {}
        self._times: dict[int, list[float]] = {}
        self._by_number: dict[Slot, dict[tuple[int, str], list[Led]]] = {}
        changes = [(time, inode) for time, inode, _ in model.linked]
        changes += [(each.time, each.inode) for each in model.renames]
        changes += [(each.time, each.replaced) for each in model.renames if each.replaced is not None]
        first: dict[int, int] = {}
        for time, inode in sorted(changes):
            if time > model.base_time:
                first.setdefault(inode, time)
        self.changed = {inode: place for place, inode in enumerate(first)}
        self._changed_times = list(first.values())

    # --- objects whose names changed

    def changed_count(self, now: int) -> int:
        """How many objects whose names changed until then: the first so many of `changed`."""
        return bisect_right(self._changed_times, now)

    # --- what a name led to

    def led(self, slot: Slot) -> dict[int, float]:
        """Every object that the name ever led to, and since when it may have."""
        known = self._led.get(slot)
        if known is None:
            known = self._led[slot] = dict(self._leading(slot))
        return known

    def _leading(self, slot: Slot) -> Iterator[tuple[int, float]]:
        timeline = self._model.entries.get(slot)
        if timeline is None:
            return
        found: dict[int, float] = {}
        had = zip((0, *timeline.times[1:]), timeline.values, strict=True)
        beside = ((since, value) for since, until, value in timeline.beside if until > 0)
        for since, value in (*had, *beside):
            if value is not None:
                found[value] = min(since, found.get(value, since))
        yield from found.items()

    def led_of(self, slot: Slot, number: int, kind: str) -> list[Led]:
        """Of these objects those with that inode number and of that kind."""
        by_number = self._by_number.get(slot)
        if by_number is None:
            by_number = self._by_number[slot] = {}
            for inode, since in self.led(slot).items():
                object_ = self._model.inodes[inode]
                by_number.setdefault((object_.number, object_.kind), []).append(Led(inode, since))
        return by_number.get((number, kind), [])

    # --- times at which something of an object changed

    def change_count(self, inode: int, now: int) -> int:
        """Equal at two times between which no call was about the object or its number, and nothing changed of
        its attributes, links and content, nor of what a crash may show of them."""
        times = self._times.get(inode)
        if times is None:
            times = self._times[inode] = sorted(self._changing(inode))
        return bisect_right(times, now)

    def _changing(self, inode: int) -> Iterator[float]:
        model = self._model
        by_object: tuple[dict[int, Timeline[Any]], ...] = (
            *(model.modes, model.owners, model.mtimes, model.flags),
            *(model.nlink, model.content, model.allocated),
        )
        lines = [timelines[inode] for timelines in by_object if inode in timelines]
        for line in (*lines, *model.xattrs[inode].values()):
            yield from line.times
            yield from (since for since, _, _ in line.beside)
        yield from (time for time, each in model.cut_short.items() if each.inode == inode)
        yield from (time for time, (moved, _) in model.moving.items() if moved == inode)
        yield from (time for of, time in model.untold.items() if of == inode)
        if inode in self.changed:
            yield self._changed_times[self.changed[inode]]
        yield from (before + 1 for before, _ in self.called.get(model.inodes[inode].number, ()))

    # --- renames

    @functools.cached_property
    def renamed(self) -> dict[int, list[Rename]]:
        found: dict[int, list[Rename]] = {}
        for rename in self._model.renames:
            found.setdefault(rename.inode, []).append(rename)
        return found

    @functools.cached_property
    def replacing(self) -> dict[Slot, list[Placed]]:
        found: dict[Slot, list[Placed]] = {}
        for place, rename in enumerate(self._model.renames):
            if rename.replaced is not None:
                found.setdefault(rename.new, []).append(Placed(place, rename))
        return found

    def replacing_in(self, shown: Mapping[Slot, int]) -> Iterator[Rename]:
        """Those that names show, with what they lead to."""
        slots = [slot for slot in shown if slot in self.replacing]
        return in_order(
            each for slot in slots for each in self.replacing[slot] if each.rename.inode == shown[slot]
        )

    # --- calls

    @functools.cached_property
    def called(self) -> dict[int, list[tuple[int, str]]]:
        found: dict[int, list[tuple[int, str]]] = {}
        for time, step in self._model.steps.items():
            found.setdefault(step.inode, []).append((time, step.operation.word))
        return found


def in_order(renames: Iterable[Placed]) -> Iterator[Rename]:
    """As they stand in the model."""
    return (each.rename for each in sorted(renames, key=lambda each: each.place))


def index_of(model: Model) -> Index:
    """To be asked for once the model is built: it is not made again when that changes."""
    known: Index | None = model.index
    if known is None:
        known = model.index = Index(model)
    return known
