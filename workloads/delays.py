"""
The threads of parallel blocks, delayed: the same calls, which meet elsewhere.

In:       a Workload, a seed, which draw.
Out:      the Workload with other `await` lines in its threads.
Not here: what a thread waits for (harness/guests/agent/threads.c), the orders that the calls may have taken
          effect in (oracles/orders.py).

A call is delayed by writes of the device, because there the other threads wait, and by microseconds after
them, because two processors meet within less than a write takes.
"""

import random
from collections.abc import Iterable, Iterator

import msgspec

from workloads import threads
from workloads.workload import Operation, Workload

WRITES = 8  # most calls of the library's blocks have done theirs by then
SHORT_US, LONG_US = 10, 5_000  # a write of a block takes 20 ms
# Of a thread's first call, and of the others: a thread that never pauses is met most often.
FIRST, SHARES = 0.8, (0.0, 0.2, 0.6)
AWAIT = "await"


def delayed(workload: Workload, seed: int, number: int) -> Workload:
    """number: 0, the workload as it is written; from 1, draws. The same arguments give the same workload."""
    if not (number and workload.parallel):
        return workload
    draw = random.Random(f"{seed} {workload.name} {number}")
    share = draw.choice(SHARES)
    run = (each for thread in _grouped(workload.run) for each in _delayed_thread(thread, share, draw))
    return msgspec.structs.replace(workload, run=threads.numbered(run))


def _grouped(run: Iterable[Operation]) -> Iterator[list[Operation]]:
    """The operations of each thread, and in lists of their own those that run alone."""
    together: list[Operation] = []
    for operation in run:
        if together and threads.place_of(operation) != threads.place_of(together[0]):
            yield together
            together = []
        together.append(operation)
    if together:
        yield together


def _delayed_thread(thread: list[Operation], share: float, draw: random.Random) -> Iterator[Operation]:
    """share: of the calls behind the first one that are delayed."""
    if not thread[0].parallel:
        yield from thread
        return
    first, at = thread[0], 0
    for place, operation in enumerate(each for each in thread if each.word != AWAIT):
        if draw.random() < (share if place else FIRST):
            at = max(at, draw.choice((0, draw.randrange(WRITES + 1))))
            yield msgspec.structs.replace(
                Operation(AWAIT, length=at, offset=_microseconds(draw)),
                parallel=first.parallel,
                thread=first.thread,
            )
        yield operation


def _microseconds(draw: random.Random) -> int:
    """None in half of the draws, else as often below as above their geometric mean, whatever the scale."""
    if draw.random() < 0.5:
        return 0
    return int(SHORT_US * (LONG_US / SHORT_US) ** draw.random())
