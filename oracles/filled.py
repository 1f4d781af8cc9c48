"""
Part of historical: a size is on disk only with the data that was written up to it.

In:       a Case, a file and its recovered node.
Out:      Unfilled, the first byte that is zero although no call left a hole there; None.
Not here: which promise it is (promises.py), the words of the violation (historical.py), whether the data had
          to be there (durable.py).

Each change of a file since it was last durable may have set the size that was found. What must be there then:

write, append  The end of the file, on xfs and on ext4 with data=journal. fs/xfs/xfs_aops.c
               xfs_setfilesize(): the size on disk grows when a write has completed, up to its end; what lies
               before may complete later.
               fs/ext4/inode.c ext4_journalled_write_end(): data and size are in one handle.
               On btrfs some byte. fs/btrfs/file-item.c btrfs_inode_safe_disk_i_size_write(): without hole
               extents the first ordered extent that completes brings the size that the file has in memory.
truncate       On xfs all that earlier writes added to the file: fs/xfs/xfs_iops.c xfs_setattr_size() writes
               what is beyond the size on disk before it logs a new one. Elsewhere nothing: the size is set at
               once.
another call   Nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from oracles.case import Case
from oracles.content import Content, Difference, Piece, clipped, first_difference, merged_pieces, size_of
from oracles.model.model import ALL_BYTES
from oracles.observation import Node

KEY = "size-with-data"
PAGE_BYTES = 4096
WRITING = ("write", "append")
# A stamp begins with the number of its operation (workloads/history.py stamped()): shorter, it may be zeros.
STAMP_BYTES = 8
# Calls that write out no part of a file alone, and reserve nothing in it.
GROWING = (
    *("creat", *WRITING, "link", "rename", "unlink", "setxattr", "removexattr", "chmod", "chown"),
    *("fsync", "fdatasync", "evict"),
)

Range = tuple[int, int]


class Unfilled(NamedTuple):
    """What is missing, and the time of the call that may have set the size."""

    difference: Difference
    time: int


def unfilled(case: Case, inode: int, node: Node) -> Unfilled | None:
    if not case.asks_for(KEY) or node.size < STAMP_BYTES or not _known(case, inode):
        return None
    first = _first(case, inode)
    contents = case.allowed.contents(inode, first)
    found = None
    for time, asked in _setters(case, inode, node.size, first):
        found = _missing(node, merged_pieces(contents, ALL_BYTES), asked, case.allowed.filesystem)
        if found is None:
            return None
        missing = Unfilled(found, time)
    return missing if found is not None else None


def _known(case: Case, inode: int) -> bool:
    """Whether each call on it did all of its work, and moved no blocks."""
    model, allowed = case.model, case.allowed
    of_file = [moved for moved, _ in model.moving.values()] + [
        each.inode for each in model.cut_short.values()
    ]
    no_room = any(of in model.unwritten for of in (inode, -1))
    return allowed.told(inode) and inode not in of_file and not no_room


def _first(case: Case, inode: int) -> int:
    """Since when it may show any of its states; before it was made, that there was none."""
    born = case.model.inodes[inode].born
    return max(case.allowed.data_floor(inode).time, born - 1)


def _setters(case: Case, inode: int, size: int, first: int) -> Iterator[tuple[int, Range]]:
    """(time, what must be there) of each change that may have set this size."""
    timeline = case.model.content[inode]
    filesystem = case.allowed.filesystem
    before: list[tuple[int, Content, Content]] = []
    if timeline.start > first:
        before.append((timeline.start, (), timeline.values[0]))
    elif size == size_of(timeline.at(first)):
        yield first, (0, 0)
    for time, old, new in [*before, *timeline.changes(first, case.allowed.now)]:
        word = case.model.steps[time - 1].operation.word
        low, high = sorted((size_of(old), size_of(new)))
        if word in WRITING and low < size <= high:
            yield time, _written(case, inode, time, size, first)
        elif word == "truncate" and filesystem != "btrfs":
            if size == size_of(new):
                yield time, _added(case, inode, time, size, first) if filesystem == "xfs" else (0, 0)
        elif word not in WRITING and (size == size_of(new) or low < size <= high):
            yield time, (0, 0)


def _written(case: Case, inode: int, time: int, size: int, first: int) -> Range:
    filesystem, timeline = case.allowed.filesystem, case.model.content[inode]
    if filesystem == "btrfs":
        empty = not size_of(timeline.at(first)) or timeline.start > first
        return (0, size) if empty and set(_words(case, inode)) <= set(GROWING) else (0, 0)
    start = (size - 1) // PAGE_BYTES * PAGE_BYTES
    old = () if time == timeline.start else timeline.at(time - 1)
    return max(start, size_of(old)), size


def _added(case: Case, inode: int, time: int, size: int, first: int) -> Range:
    """Behind the largest size that it had before: there the size on disk has not been."""
    if not set(_words(case, inode)) <= {*GROWING, "truncate"}:
        return 0, 0
    timeline = case.model.content[inode]
    was = size_of(timeline.at(first)) if timeline.start <= first else 0
    return min(was, size), min(size, size_of(timeline.at(time - 1)))


def _words(case: Case, inode: int) -> Iterator[str]:
    """Of all calls on it; those on another object that had its number before are among them."""
    number = case.model.inodes[inode].number
    for time, word in case.allowed.index.called.get(number, ()):
        if time < case.allowed.now:
            yield word


def _missing(node: Node, pieces: tuple[Piece, ...], asked: Range, filesystem: str) -> Difference | None:
    start, end = asked
    wanted = clipped(pieces, start, end)
    if end - start < STAMP_BYTES:
        return None
    if filesystem == "btrfs" and any(run.kind != "z" for run in node.content if run.offset < end):
        return None
    found = first_difference(node.content, wanted, node.size)
    return found if found is not None and found.stamp == 0 else None
