"""
What the queue of a real disk did while a workload was recorded.

In:       the requests of one recording, as agent/queue.c tells them.
Out:      queue_facts(): QueueFacts, None where nothing was seen.
Not here: the order of the log (states/overtaken.py), how it is shown (reports/drawings/queue.py).

A request that was given to the driver before the recording, or had not completed at its end, is left out.
"""

from statistics import median
from typing import NamedTuple

import msgspec

from reports.results import Latency, QueueFacts, QueueRequest

REQUESTS_KEPT = 400  # for the drawing

COMPLETED = 1  # agent/queue.c


class Seen(msgspec.Struct, frozen=True):
    """requests: WHAT, microseconds, RWBS, sector, sectors."""

    write_cache: str
    fua: str
    requests: tuple[tuple[int, float, str, int, int], ...]


class Request(NamedTuple):
    """number: in the order of the trace. kind: write, FUA, FLUSH, read, discard. given_us, completed_us: of
    one clock."""

    number: int
    kind: str
    given_us: float
    completed_us: float


def queue_facts(raw: msgspec.Raw) -> QueueFacts | None:
    """Errors: msgspec.ValidationError."""
    seen = msgspec.json.decode(raw, type=Seen | None)
    if seen is None:
        return None
    requests = matched(seen)
    writes = [one for one in requests if is_write(one)]
    last_us = 0.0  # the latest completion of an earlier write
    beside = 0
    overtook = set()
    for one in writes:
        beside += last_us > one.given_us
        if last_us > one.completed_us:
            overtook.add(one)
        last_us = max(last_us, one.completed_us)
    first_us = requests[0].given_us if requests else 0.0
    return QueueFacts(
        seen.write_cache,
        seen.fua,
        depth_of(requests),
        len(writes),
        beside,
        len(overtook),
        {
            kind: latency([one for one in requests if one.kind == kind])
            for kind in sorted({one.kind for one in requests})
        },
        tuple(
            QueueRequest(one.kind, one.given_us - first_us, one.completed_us - first_us, one in overtook)
            for one in requests[:REQUESTS_KEPT]
        ),
    )


def is_write(request: Request) -> bool:
    return request.kind in ("write", "FUA")


def kind_of(rwbs: str) -> str:
    """Of what blk_fill_rwbs() wrote (kernel/trace/blktrace.c): PREFLUSH, the operation, FUA and others."""
    operation = rwbs.removeprefix("F")[:1]
    if rwbs[:1] == "F":
        return "FLUSH"  # device mapper sends it before the data, as an empty write
    if operation == "W":
        return "FUA" if "F" in rwbs[rwbs.index("W") :] else "write"
    return {"R": "read", "D": "discard"}.get(operation, "other")


def matched(seen: Seen) -> list[Request]:
    """In the order in which they were given to the driver."""
    under_way: dict[tuple[str, int], list[tuple[int, float]]] = {}
    done: list[Request] = []
    for number, (what, time_us, rwbs, sector, _) in enumerate(seen.requests):
        kind = kind_of(rwbs)
        waiting = under_way.setdefault((kind, 0 if kind == "FLUSH" else sector), [])
        if what != COMPLETED:
            waiting.append((number, time_us))
        elif waiting:
            first, given_us = waiting.pop(0)
            done.append(Request(first, kind, given_us, time_us))
    return sorted(done)


def depth_of(requests: list[Request]) -> int:
    """The most that were under way at once; one that completes when another is given is not beside it."""
    steps = sorted(
        [(one.given_us, 1) for one in requests] + [(one.completed_us, -1) for one in requests],
        key=lambda step: (step[0], step[1]),
    )
    depth = most = 0
    for _, change in steps:
        depth += change
        most = max(most, depth)
    return most


def latency(requests: list[Request]) -> Latency:
    """Of at least one."""
    spent = [one.completed_us - one.given_us for one in requests]
    return Latency(len(spent), round(median(spent), 1), round(max(spent), 1))
