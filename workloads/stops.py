"""
A call that stops in the middle of the kernel while another one is made: drawn for any workload.

In:       a Workload, which functions of the kernel each call of its run enters (Entered), a seed, which draw.
Out:      the Workload with a `stop` in it.
Not here: counting the entries (harness/stages/entered.py), stopping (kernel/powercut-stops.c,
          harness/guests/agent/stops.c).

In a parallel block the other threads are there. Of a workload without one a call is put beside another:
beside a sync, so that a commit comes in the middle of the call, or beside the call that comes next.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from workloads import threads
from workloads.workload import STOP_MODES, Operation, Workload

UNTIL_STOPPED = 1000  # writes: more than there are, so that `await` ends where a task stops, or none is left
FIRST = 0.6  # of the draws stop at the first entry of a function
BESIDE_SYNC, BESIDE_FSYNC = (
    0.4,
    0.6,
)  # below the first a syncfs, below the second an fsync, else the next call
MAKING = ("creat", "mkdir", "mknod", "mkfifo", "symlink", "open", "tmpfile")
REMOVING = ("unlink", "rmdir", "rename")
TRIES = 50  # for a point that was not drawn before


class Entered(msgspec.Struct, frozen=True):
    """How often a call entered each function: the task that made it, and meanwhile threads of the kernel."""

    own: Mapping[str, int] = {}
    workers: Mapping[str, int] = {}


class Point(msgspec.Struct, frozen=True):
    """Of the operation at `place` of run: this entry of the function. mode: "" or one of STOP_MODES."""

    place: int
    function: str
    entry: int
    mode: str = ""


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
    """Calls are as likely as each other, and so are the functions of a call."""
    places = [place for place, each in enumerate(workload.run) if _may_stop(workload, each, calls[place])]
    seen: set[Point] = set()
    while places:
        for _ in range(TRIES):
            point = _drawn(draw.choice(places), calls, draw)
            if point not in seen:
                break
        seen.add(point)
        yield point


def _may_stop(workload: Workload, operation: Operation, entered: Entered) -> bool:
    if not (entered.own or entered.workers) or operation.word in threads.WITHOUT_EFFECT:
        return False
    if workload.parallel:
        return operation.parallel > 0
    return not threads.refusal(_placed(operation, 1))


def _drawn(place: int, calls: Sequence[Entered], draw: random.Random) -> Point:
    every = [(name, count, "") for name, count in sorted(calls[place].own.items())]
    every += [(name, count, STOP_MODES[0]) for name, count in sorted(calls[place].workers.items())]
    name, count, mode = draw.choice(every)
    entry = 1 if draw.random() < FIRST else draw.randint(1, count)
    return Point(place, name, entry, mode)


def _stop(point: Point) -> Operation:
    return Operation("stop", name=point.function, length=point.entry, mode=point.mode)


def _placed(operation: Operation, thread: int) -> Operation:
    return msgspec.structs.replace(operation, parallel=1, thread=thread)


def _among_threads(workload: Workload, point: Point) -> Iterator[Operation]:
    for place, operation in enumerate(workload.run):
        if place == point.place:
            yield msgspec.structs.replace(_stop(point), parallel=operation.parallel, thread=operation.thread)
        yield operation


def _beside(workload: Workload, point: Point, draw: random.Random) -> Iterator[Operation]:
    """The call in one thread; in the other one what is made when it has stopped."""
    operation = workload.run[point.place]
    following = workload.run[point.place + 1 : point.place + 2]
    chance, taken = draw.random(), 0
    other = Operation("syncfs")
    if BESIDE_SYNC <= chance < BESIDE_FSYNC:
        other = Operation("fsync", path=_directory(operation))
    elif chance >= BESIDE_FSYNC and following and _may_be_beside(operation, following[0]):
        other, taken = following[0], 1
    yield from workload.run[: point.place]
    yield _placed(_stop(point), 1)
    yield _placed(operation, 1)
    yield _placed(Operation("await", length=UNTIL_STOPPED), 2)
    yield _placed(other, 2)
    yield from workload.run[point.place + 1 + taken :]


def _directory(operation: Operation) -> str:
    path = operation.path2 or operation.path
    return path.rpartition("/")[0] or "." if not path.startswith("@") else "."


WRITING = ("write", "append", "pwrite", "atomicwrite")


def _may_mix(operation: Operation, other: Operation) -> bool:
    """Of two writes to one file at the same time, where one passes the page cache, nobody says what is left
    (oracles/model/builder.py refuse_mixture())."""
    both = (operation, other)
    writes = all(each.word in WRITING for each in both) and operation.path == other.path
    return writes and any(map(threads.passes_cache, both))


def _may_be_beside(operation: Operation, other: Operation) -> bool:
    """A descriptor that one thread opens is its own until the block ends; none is closed by another. What a
    call has made is looked at when it has returned, so no other call takes its name away."""
    if threads.refusal(_placed(other, 2)) or other.word in threads.WITHOUT_EFFECT:
        return False
    if _may_mix(operation, other):
        return False
    if operation.word in MAKING and other.word in REMOVING:
        return False
    return not operation.descriptor or operation.descriptor not in (other.path, other.path2)
