"""
The processors that guests are pinned to, shared among all runs of this machine.

In:       how many.
Out:      processors(), those we may use; claimed(), the ones that the fewest others hold.
Not here: the pinning (guests/local.py), the quietest one for a measurement (perf/boot.py).

A claim is an abstract Unix socket, unix(7): the kernel sees to it that two runs never have the same one, by
whatever user, and drops it when its process ends. Without claims two runs with --jobs 1 shared one processor.
"""

import contextlib
import errno
import itertools
import os
import socket
from collections.abc import Iterator


def processors() -> list[int]:
    """Those we may use."""
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def claimed(count: int, name: str = "powercut") -> Iterator[list[int]]:
    """So many, until the block ends, the highest first; one comes twice only when all are held.
    Errors: OSError."""
    with contextlib.ExitStack() as held:
        yield [_claim(name, held) for _ in range(count)]


def _claim(name: str, held: contextlib.ExitStack) -> int:
    order = processors()[::-1]
    claim = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    for holder, number in ((holder, number) for holder in itertools.count() for number in order):
        try:
            claim.bind(f"\0{name}-processor-{number}-{holder}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return number
    raise AssertionError("count() never ends")
