"""
Parallel blocks: which operations of a workload run beside each other.

In:       the operations of run, each with its block and thread (Operation.parallel, Operation.thread).
Out:      the blocks; how many orders their operations can take; what may not stand inside, and why.
Not here: the text form (text.py), which of the orders a history allows (oracles/orders.py).

All threads of a block begin together, and the operation behind the block begins when all have ended.
"""

import itertools
import math
from collections.abc import Iterable, Sequence

import msgspec

from workloads.workload import Operation

THREADS_MIN, THREADS_MAX = 2, 4
# Each is a history of its own to judge a state by, in the worst case (oracles/orders.py).
ORDERS_MAX = 1000
WRITE_BYTES_MAX = 1 << 16  # harness/guests/agent/calls.c: what one call of pwrite(2) writes

REFUSED = {
    "umount": "unmounts the filesystem that the other threads use",
    "remount": "unmounts the filesystem that the other threads use",
    "crash": "is a power failure, which ends what the other threads do",
    "fault": "changes the device that the other threads use",
    "freeze": "holds back what the other threads write",
    "thaw": "lets what the other threads write go on",
    "grow": "makes several transactions, which the oracles do not model beside unfinished calls",
    "errortag": "changes the code that the other threads run",
    "append": (
        "writes at the end of the file, which depends on the other threads; use write, which names the offset"
    ),
    "copyrange": "copies in several calls; use clone, which makes one call",
    "fill": "makes many calls, each of which takes the space that is free at that time",
    "chattr": (
        "reads the flags and then sets them, and another thread may set flags between these two calls"
    ),
    "subvol": (
        "commits the transaction, and the oracles do not model which parts of unfinished "
        "calls are in that commit"
    ),
    "snapshot": (
        "commits the transaction, and the oracles do not model which parts of unfinished "
        "calls are in that commit"
    ),
}
# Nothing in a filesystem depends on when they are done beside others.
WITHOUT_EFFECT = frozenset(("wait", "await", "stop", "evict", "close", "sync_file_range"))
# They decide when a call is done, and are no calls.
DELAYING = ("await", "stop")
ALONE = {
    "await": "waits for other threads, so it must be in a thread of a parallel block",
    "stop": "stops a call while other threads go on, so it must be in a thread of a parallel block",
}

PAGE_BYTES = 1 << 12

Place = tuple[int, int]  # block and thread, 0, 0 for what runs alone


def place_of(operation: Operation) -> Place:
    return operation.parallel, operation.thread


def refusal(operation: Operation) -> str:
    """Why it may not stand where it does, or ""."""
    word = operation.word
    if not operation.parallel:
        return f"{word} {ALONE[word]}" if word in ALONE else ""
    if word in REFUSED:
        return f"{word} is not allowed in a parallel block: it {REFUSED[word]}"
    if word == "mmapwrite" and operation.offset // PAGE_BYTES != (end_of(operation) - 1) // PAGE_BYTES:
        return "mmapwrite in a parallel block may write to one page of 4K alone, as one call would"
    if word in ("write", "pwrite") and operation.length > WRITE_BYTES_MAX:
        return f"{word} in a parallel block may write {WRITE_BYTES_MAX >> 10}K at most, which is one call"
    return ""


def passes_cache(operation: Operation) -> bool:
    """A write with O_DIRECT, which shares the file's lock with others."""
    return "direct" in operation.mode or operation.word == "atomicwrite"


def end_of(operation: Operation) -> int:
    """Of what it writes: at least one byte behind its offset."""
    return operation.offset + max(operation.length, 1)


def threads_of(block: Iterable[Operation]) -> list[tuple[Operation, ...]]:
    return [tuple(operations) for _, operations in itertools.groupby(block, key=lambda op: op.thread)]


def blocks(run: Iterable[Operation]) -> list[tuple[Operation, ...]]:
    """The operations of each block, in the order of the text."""
    grouped = itertools.groupby(run, key=lambda operation: operation.parallel)
    return [tuple(operations) for number, operations in grouped if number]


def order_count(run: Iterable[Operation]) -> int:
    """In how many orders the operations of its blocks could have had their effects."""
    return math.prod(_orders_of(threads_of(block)) for block in blocks(run))


def _orders_of(threads: Sequence[Sequence[Operation]]) -> int:
    return interleavings([sum(op.word not in WITHOUT_EFFECT for op in thread) for thread in threads])


def interleavings(lengths: Sequence[int]) -> int:
    """In how many orders threads of so many operations can take turns."""
    return math.factorial(sum(lengths)) // math.prod(math.factorial(length) for length in lengths)


def numbered(run: Iterable[Operation]) -> tuple[Operation, ...]:
    """Blocks counted from 1 and their threads from 1; a block of one thread is none."""
    made: list[Operation] = []
    number = 0
    for parallel, grouped in itertools.groupby(run, key=lambda operation: operation.parallel):
        threads = threads_of(grouped)
        if parallel == 0 or len(threads) < THREADS_MIN:
            made += [placed(operation, 0, 0) for thread in threads for operation in thread]
            continue
        number += 1
        made += [
            placed(operation, number, at) for at, thread in enumerate(threads, 1) for operation in thread
        ]
    return tuple(made)


def placed(operation: Operation, parallel: int, thread: int) -> Operation:
    """The same in that thread of that block."""
    if place_of(operation) == (parallel, thread):
        return operation
    return msgspec.structs.replace(operation, parallel=parallel, thread=thread)
