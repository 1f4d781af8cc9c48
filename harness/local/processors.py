"""
The processors that guests are pinned to, shared among all runs of this machine.

In:       a command.
Out:      processors(), those we may use; pinned(), the command on one that the fewest other guests have.
Not here: the guests (guests/), the quietest one for a measurement (perf/boot.py).

A claim is an abstract Unix socket, unix(7): the kernel sees to it that two guests never have the same one, by
whatever user, and drops it when our process ends. Without claims two runs with --jobs 1 shared one processor.
"""

import contextlib
import errno
import itertools
import os
import socket
from collections.abc import Iterator, Sequence

NAME = "powercut"  # of the sockets


def processors() -> list[int]:
    """Those we may use."""
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def pinned(command: Sequence[str], processor: int | None = None, count: int = 1) -> Iterator[list[str]]:
    """The command as it runs on this processor alone. None: on one that is claimed until the block ends: on
    one a switch between the kernel of a guest and its process costs a fifth of that on two (ptrace).
    count: of processors; those beside the first are claimed by nobody, and fewer where there are fewer.
    Errors: OSError."""
    with contextlib.nullcontext(processor) if processor is not None else claimed() as number:
        others = [other for other in processors()[::-1] if other != number]
        yield ["taskset", "-c", ",".join(map(str, (number, *others[: count - 1]))), *command]


@contextlib.contextmanager
def claimed() -> Iterator[int]:
    """One, until the block ends, the highest first; one that is held is given again only when all are.
    Errors: OSError."""
    order = processors()[::-1]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        yield next(
            number for holder in itertools.count() for number in order if _bound(claim, number, holder)
        )


def _bound(claim: socket.socket, number: int, holder: int) -> bool:
    try:
        claim.bind(f"\0{NAME}-processor-{number}-{holder}")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    return True
