"""
What is done beside a call that stops, and behind both.

In:       a Workload without threads, the place of the call in its run, a random draw.
Out:      a Company: a sync, so that a commit comes in the middle of the call; the call that comes next; or,
          beside a sync, a change of what it makes durable, and behind both the same sync again.
Not here: where the call stops (stops.py).
"""

import random
from collections.abc import Iterator

import msgspec

from workloads import threads
from workloads.workload import Operation, Workload

# Of the draws, what a call is put beside: the rest are beside the call that comes next.
BESIDE_SYNCFS, BESIDE_FSYNC_OF_DIRECTORY, BESIDE_FSYNC = 0.35, 0.15, 0.15
CHANGED = 0.5  # of the syncs that stop have a change beside them
AGAIN = 0.3  # of the changes that stop are made durable behind what is beside them
OF_ONE = ("fsync", "fdatasync")
SYNCING = (*OF_ONE, "msync", "sync", "syncfs")
MAKING = ("creat", "mkdir", "mknod", "mkfifo", "symlink", "open", "tmpfile")
REMOVING = ("unlink", "rmdir", "rename")
SPECIAL = ("mknod", "mkfifo", "symlink")
WRITING = ("write", "append", "pwrite", "atomicwrite")
CHANGING = ("creat", "mkdir", *WRITING, "truncate", "fallocate", "chmod", "chown", "setxattr", "link")
NEW = ".beside"  # at the end of a name that a change makes


class Company(msgspec.Struct, frozen=True):
    """other: what is done when the call has stopped. taken: how many of the calls behind it that is. after:
    what is done when both have returned."""

    other: Operation
    taken: int = 0
    after: tuple[Operation, ...] = ()


def company(workload: Workload, place: int, draw: random.Random) -> Company:
    operation = workload.run[place]
    chance, again = draw.random(), draw.random()
    if operation.word in SYNCING and again < CHANGED and (found := _changed(workload, place, draw)):
        return found
    after = _made_durable(workload, operation, draw) if again < AGAIN else ()
    if other := _sync_beside(operation, chance):
        return Company(other, 0, after)
    following = workload.run[place + 1 : place + 2]
    if following and _may_be_beside(operation, following[0]):
        return Company(following[0], 1, after)
    return Company(Operation("syncfs"), 0, after)


def _sync_beside(operation: Operation, chance: float) -> Operation | None:
    """chance: below 1. None where it is to be another call."""
    fsync = Operation("fsync", path=_directory(operation))
    if operation.path and operation.word not in (*MAKING, *REMOVING):
        itself = msgspec.structs.replace(fsync, path=operation.path)
    else:
        itself = fsync
    shares = (
        (Operation("syncfs"), BESIDE_SYNCFS),
        (fsync, BESIDE_FSYNC_OF_DIRECTORY),
        (itself, BESIDE_FSYNC),
    )
    for other, share in shares:
        if chance < share:
            return other
        chance -= share
    return None


def _directory(operation: Operation) -> str:
    path = operation.path2 or operation.path
    return path.rpartition("/")[0] or "." if not path.startswith("@") else "."


# --- a change beside a sync -----------------------------------------------------------------------


def _changed(workload: Workload, place: int, draw: random.Random) -> Company | None:
    """Of what the sync makes durable, and made durable by it again; of a sync of everything a file that calls
    in front of it wrote. None where there is no such file."""
    operation = workload.run[place]
    path = operation.path
    if not path:
        written = dict.fromkeys(
            each.path for each in (*workload.setup, *workload.run[:place]) if each.word in WRITING
        )
        if not written:
            return None
        path = draw.choice(tuple(written))
    change = draw.choice(tuple(_changes(workload, path)))
    again = operation if operation.path else Operation(draw.choice(OF_ONE), path=path)
    return Company(change, 0, (again,))


def _changes(workload: Workload, path: str) -> Iterator[Operation]:
    """Calls that change it, each in a way of its own. Sizes lie in a block, between two, and behind the end
    of small files."""
    yield Operation("setxattr", path=path, name="user.beside", value="1")
    yield Operation("chmod", path=path, mode="604")
    if _is_directory(workload, path):
        below = "" if path == "." else f"{path}/"
        yield Operation("creat", path=f"{below}file{NEW}")
        yield Operation("mkdir", path=f"{below}directory{NEW}")
        return
    yield Operation("write", path=path, offset=0, length=4 << 10)
    yield Operation("write", path=path, offset=8 << 10, length=8 << 10)
    yield Operation("truncate", path=path, length=3000)
    yield Operation("truncate", path=path, length=20000)
    yield Operation("fallocate", path=path, mode="alloc", offset=16 << 10, length=16 << 10)
    if not path.startswith("@"):
        yield Operation("link", path=path, path2=path + NEW)


def _is_directory(workload: Workload, path: str) -> bool:
    every = (*workload.setup, *workload.run)
    made = any(
        each.word in ("mkdir", "subvol", "snapshot") and path in (each.path, each.path2) for each in every
    )
    return path == "." or made or any(each.path.startswith(f"{path}/") for each in every)


def _made_durable(workload: Workload, operation: Operation, draw: random.Random) -> tuple[Operation, ...]:
    """What the call changed or made, where that can be opened."""
    path = operation.path2 or operation.path
    every = (*workload.setup, *workload.run)
    if operation.word not in CHANGING or any(each.word in SPECIAL and each.path == path for each in every):
        return ()
    return (Operation(draw.choice(OF_ONE), path=path),)


# --- the call that comes next ---------------------------------------------------------------------


def _may_mix(operation: Operation, other: Operation) -> bool:
    """Of two writes to one file at the same time, where one passes the page cache, nobody says what is left
    (oracles/model/builder.py refuse_mixture())."""
    both = (operation, other)
    writes = all(each.word in WRITING for each in both) and operation.path == other.path
    return writes and any(map(threads.passes_cache, both))


def _may_be_beside(operation: Operation, other: Operation) -> bool:
    """A descriptor that one thread opens is its own until the block ends; none is closed by another. What a
    call has made is looked at when it has returned, so no other call takes its name away."""
    if threads.refusal(threads.placed(other, 1, 2)) or other.word in threads.WITHOUT_EFFECT:
        return False
    if _may_mix(operation, other):
        return False
    if operation.word in MAKING and other.word in REMOVING:
        return False
    return not operation.descriptor or operation.descriptor not in (other.path, other.path2)
