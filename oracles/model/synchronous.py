"""
Calls that are durable when they return, because the filesystem is mounted with -o sync or, for names, wsync.

In:       a Builder, an Operation that succeeded.
Out:      the Builder's model, with what the call made durable.
Not here: writes by a descriptor of O_SYNC (words.py), which filesystem does so (oracles/promises.py).
"""

from oracles import content as contents
from oracles.model.builder import Builder
from workloads.workload import Operation

NAMING = frozenset(("creat", "mkdir", "mknod", "mkfifo", "symlink", "link", "unlink", "rmdir", "rename"))
WRITING = frozenset(("write", "append", "pwrite"))


def synchronous(fs: Builder, operation: Operation) -> None:
    """What mount(8) says of dirsync is what an fsync of the directories does; what it says of sync is, for a
    write, what O_DSYNC does, and for an attribute or a size what an fsync does that has no data to write."""
    word = operation.word
    if word in NAMING:
        paths = (operation.path2,) if word == "link" else (operation.path, operation.path2)
        for directory in dict.fromkeys(fs.parent(path)[0] for path in paths if path):
            fs.persist("fsync", directory)
    if not fs.synchronous:
        return
    if word in ("setxattr", "removexattr"):
        fs.persist("fsync", fs.there(operation.path, follow=False), 0, 0)
    elif word == "truncate" and _shorter(fs, operation):
        fs.persist("fsync", fs.there(operation.path, follow=True))
    elif word in WRITING:
        _written(fs, operation)


def _shorter(fs: Builder, operation: Operation) -> bool:
    inode = fs.there(operation.path, follow=True)
    before = fs.model.content[inode].at(fs.time - 1)
    return operation.length < contents.size_of(before)


def _written(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=True)
    if inode not in fs.model.content:
        return  # a pipe or a device
    start = operation.offset
    if operation.word == "append":
        start = contents.size_of(fs.model.content[inode].at(fs.time - 1))
    if operation.length:
        fs.persist("fdatasync", inode, start, start + operation.length)
