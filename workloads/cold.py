"""
Workloads that find nothing in memory of what their setup made.

In:       workloads.
Out:      the same, with a `remount` as the last operation of setup where that can be.
Not here: the words (text.py), how setup ends (harness/stages/record.py).

Between setup and run a filesystem stays mounted, as it does for its users: inodes and buffers are in memory
as the operations left them. That hides what depends on it. A change to a block that is dirty still takes all
that was changed in it before into the log once more, and an inode that was logged before is known as such.
After a mount only what the call itself logs is there.
"""

import msgspec

from workloads.workload import Operation, Workload

REMOUNT = Operation("remount")
MOUNTED = ("remount", "umount")


def cold(workload: Workload) -> Workload:
    """The same one where its setup is empty, ends with a mount or leaves something open or frozen, and of a
    program."""
    setup = workload.setup
    if workload.program is not None or not setup or setup[-1].word in MOUNTED or _holds(setup):
        return workload
    return msgspec.structs.replace(workload, setup=(*setup, REMOUNT))


def _holds(setup: tuple[Operation, ...]) -> bool:
    """Whether a descriptor is open at its end, or the filesystem frozen."""
    held = set()
    for operation in setup:
        if operation.word in ("open", "tmpfile"):
            held.add(operation.descriptor)
        elif operation.word == "close":
            held.discard(operation.path)
        elif operation.word == "freeze":
            held.add(operation.word)
        elif operation.word == "thaw":
            held.discard("freeze")
    return bool(held)
