"""
A call that stops in the middle of the kernel while another one is made: drawn for any workload.

In:       a Workload, which functions of the kernel each call of its run enters (Entered), a seed, which draw.
Out:      the Workload with a `stop` in it.
Not here: what a call is put beside (beside.py), counting the entries (harness/stages/entered.py), stopping
          (kernel/powercut-stops.c, harness/guests/agent/stops.c).

In a parallel block the other threads are there. Of a workload without one a call is put beside another
(beside.py).
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from workloads import threads
from workloads.beside import WRITING, company
from workloads.workload import STOP_RETURN, STOP_WORKERS, Operation, Workload

UNTIL_STOPPED = 1000  # writes: more than there are, so that `await` ends where a task stops, or none is left
FIRST = 0.6  # of the draws stop at the first entry of a function, or at the first return from it
NEAR = 0.8  # of the draws, where functions were asked for, are near them
CALLED = 0.5  # of these are between two statements of such a function, as far as these call others
TRIES = 50  # for a point that was not drawn before


class Moment(msgspec.Struct, frozen=True, array_like=True):
    """How often a call entered a function, or returned from it. within: another function, for what came while
    the task was in that one alone. worker: threads of the kernel did it meanwhile, and not the call. called:
    whether that other function called it itself."""

    function: str
    times: int
    returning: bool = False
    worker: bool = False
    within: str = ""
    called: bool = False

    @property
    def name(self) -> str:
        return f"{self.within}:{self.function}" if self.within else self.function

    @property
    def mode(self) -> str:
        """Of the word `stop`."""
        parts = {STOP_RETURN: self.returning, STOP_WORKERS: self.worker}
        return ",".join(mode for mode, wanted in parts.items() if wanted)


Entered = tuple[Moment, ...]  # of one call


class Point(msgspec.Struct, frozen=True):
    """Of the operation at `place` of run: what its `stop` says."""

    place: int
    name: str
    entry: int
    mode: str = ""


def comes_near(calls: Sequence[Entered]) -> bool:
    """Whether a call enters a function within which moments were counted."""
    return any(moment.within for call in calls for moment in call)


def stopped(workload: Workload, calls: Sequence[Entered], seed: int, number: int) -> Workload:
    """calls: of each operation of run. none where that is not known.
    number: 0, the workload as it is written, as it is without calls; from 1, draws, each with another
    point where there is one. The same arguments give the same workload."""
    if not (number and calls):
        return workload
    draw = random.Random(f"{seed} {workload.name} stops")
    points = _points(workload, calls, draw)
    for _ in range(number - 1):
        next(points, None)
    point = next(points, None)
    if point is None:
        return workload
    run = _among_threads(workload, point) if workload.parallel else _beside(workload, point, draw)
    return msgspec.structs.replace(workload, run=threads.numbered(run))


def _points(workload: Workload, calls: Sequence[Entered], draw: random.Random) -> Iterator[Point]:
    """Calls are as likely as each other, and so are the moments of a call; those near the functions that were
    asked for are drawn first and foremost."""
    places = [place for place, each in enumerate(workload.run) if _may_stop(workload, each, calls[place])]
    outers = {moment.within for call in calls for moment in call}
    everywhere = {place: [each for each in calls[place] if not each.within] for place in places}
    near = {place: [each for each in calls[place] if _is_near(each, outers)] for place in places}
    near = {place: found for place, found in near.items() if found}
    called = {place: [each for each in found if each.called] or found for place, found in near.items()}
    seen: set[Point] = set()
    while places:
        among = everywhere
        if near and draw.random() < NEAR:
            among = called if draw.random() < CALLED else near
        for tried in range(2 * TRIES):
            point = _drawn(among if tried < TRIES else everywhere, draw)
            if point not in seen:
                break
        seen.add(point)
        yield point


def _is_near(moment: Moment, outers: Collection[str]) -> bool:
    """Within one of them, or at its beginning."""
    return bool(moment.within) or (moment.function in outers and not moment.returning)


def _may_stop(workload: Workload, operation: Operation, entered: Entered) -> bool:
    if not entered or operation.word in threads.WITHOUT_EFFECT:
        return False
    if workload.parallel:
        return operation.parallel > 0
    return not threads.refusal(threads.placed(operation, 1, 1))


def _drawn(among: Mapping[int, Sequence[Moment]], draw: random.Random) -> Point:
    place = draw.choice(tuple(among))
    moment = draw.choice(among[place])
    entry = 1 if draw.random() < FIRST else draw.randint(1, moment.times)
    return Point(place, moment.name, entry, moment.mode)


def _stop(point: Point) -> Operation:
    return Operation("stop", name=point.name, length=point.entry, mode=point.mode)


def _made_before(workload: Workload, place: int) -> Iterator[Operation]:
    """The file of a write that makes it: a thread's write makes none (harness/guests/agent/calls.c)."""
    operation = workload.run[place]
    before = (*workload.setup, *workload.run[:place])
    named = operation.path.startswith("@") or any(
        operation.path in (each.path, each.path2) for each in before
    )
    if operation.word in WRITING and not named:
        yield Operation("creat", path=operation.path)


def _among_threads(workload: Workload, point: Point) -> Iterator[Operation]:
    for place, operation in enumerate(workload.run):
        if place == point.place:
            yield threads.placed(_stop(point), operation.parallel, operation.thread)
        yield operation


def _beside(workload: Workload, point: Point, draw: random.Random) -> Iterator[Operation]:
    """The call in one thread; in the other one what is made when it has stopped."""
    beside = company(workload, point.place, draw)
    yield from workload.run[: point.place]
    yield from _made_before(workload, point.place)
    yield threads.placed(_stop(point), 1, 1)
    yield threads.placed(workload.run[point.place], 1, 1)
    yield threads.placed(Operation("await", length=UNTIL_STOPPED), 1, 2)
    yield threads.placed(beside.other, 1, 2)
    yield from beside.after
    yield from workload.run[point.place + 1 + beside.taken :]
