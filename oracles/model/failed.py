"""
A call that failed, and may have had part of its effect.

In:       a Builder before the step, and what the step's word does when it succeeds.
Out:      the Builder, with what the call may have left.
Not here: calls that succeed (words.py).
"""

from collections.abc import Callable

from oracles import content as contents
from oracles.model.builder import Builder
from oracles.model.model import (
    CHANGING_CONTENT,
    CLOCK,
    MAKING_TOO,
    NO_ROOM,
    CutShort,
    Disagreement,
    common,
    without,
)
from oracles.timeline import T, Timeline
from workloads.workload import Operation


def may_have_touched(fs: Builder, operation: Operation) -> None:
    """fallocate sets the file's time before it looks whether the range can be had (fs/ext4/extents.c
    ext4_fallocate(), fs/xfs/xfs_file.c xfs_file_fallocate(): file_modified()); a write does so, too."""
    if operation.word not in CHANGING_CONTENT:
        return
    try:
        inode = fs.sized(operation.path2 or operation.path)
    except Disagreement:
        return  # it did not come so far
    fs.touch(inode, surely=False)


def half_done(fs: Builder, handler: Callable[[Builder, Operation], None]) -> None:
    """
    The call failed, and may have had part of its effect.

    Names are left out: a call that gives or takes one does so at the end or not at all, in one
    transaction, so a name that a failed call left is a finding. Only the words that make a file before
    they write to it may have done the first without the second: the inode number tells.
    An attribute has the old value or the new one, whichever is seen next (fs/btrfs/inode.c
    btrfs_setattr() sets the mode in memory before it looks for room on the disk). A file's size and
    content are what was seen right after the call; a crash during it may show any part of it.
    """
    step = fs.step
    assert step is not None
    operation, known = step.operation, len(fs.model.inodes)
    if operation.word in ("fsync", "fdatasync", "msync", "syncfs") and -step.result in NO_ROOM:
        not_written(fs)
    fs.model.half_done = True
    makes = operation.word in MAKING_TOO and operation.path[0] != "@" and step.inode
    try:
        if makes and fs.parent(operation.path) not in fs.now:
            fs.make(operation, "file", operation.path)
            known += 1
    except Disagreement:
        return  # it did not come so far
    attempt = fs.fork()
    try:
        handler(attempt, operation)
    except Disagreement:
        attempt = fs  # what it would have done cannot be said: of its file only what was seen
    attributes_of(fs, attempt, known)
    blocks_of(fs, attempt, known)
    content_of(fs, attempt, known)
    for path in (operation.path, operation.path2):
        touch_above(fs, path)


def not_written(fs: Builder) -> None:
    """What was to be written out may be lost, and a later call that succeeds need not say so again
    (Documentation/filesystems/vfs.rst, Handling errors during writeback)."""
    assert fs.step is not None
    try:
        whole = fs.step.operation.word == "syncfs"
        inode = -1 if whole else fs.there(fs.step.operation.path, follow=True)
    except Disagreement:
        return
    fs.model.unwritten.setdefault(inode, fs.time)


def attributes_of(fs: Builder, attempt: Builder, known: int) -> None:
    mine, other = fs.model, attempt.model
    either(fs, mine.modes, other.modes, known)
    either(fs, mine.owners, other.owners, known)
    for inode in other.flags.keys() - mine.flags.keys():
        mine.flags[inode] = Timeline(0, "")
    either(fs, mine.flags, other.flags, known)
    for inode, letters in other.flags_changed.items():
        mine.flags_changed.setdefault(inode, set()).update(letters)
    for inode in other.mtimes.keys() - mine.mtimes.keys():
        if inode < known:
            mine.mtimes[inode] = Timeline(0, frozenset((CLOCK,)))
    either(fs, mine.mtimes, other.mtimes, known)
    for inode in range(known):
        for name in other.xattrs[inode].keys() - mine.xattrs[inode].keys():
            mine.xattrs[inode][name] = Timeline(0, None)
        for name, line in other.xattrs[inode].items():
            if line.last != mine.xattrs[inode][name].last:
                mine.xattrs[inode][name].maybe(fs.time, line.last)


def either(fs: Builder, mine: dict[int, Timeline[T]], other: dict[int, Timeline[T]], known: int) -> None:
    for inode, line in other.items():
        if inode < known and line.last != mine[inode].last:
            mine[inode].maybe(fs.time, line.last)


def blocks_of(fs: Builder, attempt: Builder, known: int) -> None:
    """What it was to take away may be gone; what it was to allocate nobody promised. zero-range takes
    blocks away, too, to reserve others (fs/xfs/xfs_bmap_util.c xfs_free_file_space(), then
    xfs_alloc_file_space())."""
    operation = fs.step.operation if fs.step else Operation("")
    if operation.mode.startswith("zero-range") and (inode := worked_on(fs)) is not None:
        mine = fs.model.allocated[inode]
        end = operation.offset + operation.length
        mine.change(fs.time, without(mine.last, operation.offset, end))
    for inode, line in attempt.model.allocated.items():
        timeline = fs.model.allocated.get(inode)
        if inode < known and timeline is not None and line.last != timeline.last:
            timeline.change(fs.time, common(timeline.last, line.last))


def content_of(fs: Builder, attempt: Builder, known: int) -> None:
    model, left = fs.model, fs.left()
    about = {
        inode: line.last
        for inode, line in attempt.model.content.items()
        if inode < known and line.last != model.content[inode].last
    }
    if left is not None and not about and (inode := worked_on(fs)) is not None:
        about[inode] = model.content[inode].last
    model.moving.update({time: each for time, each in attempt.model.moving.items() if time == fs.time})
    for inode, wanted in about.items():
        old = model.content[inode].last
        new = contents.explained(left.content, (wanted, old)) if left and not left.errors else None
        if left is None or new is None or contents.size_of(new) != left.size:
            model.untold.setdefault(inode, fs.time)
            continue
        sizes = [contents.size_of(each) for each in (old, wanted, new)]
        start = contents.same_until(old, wanted)
        model.cut_short[fs.time] = CutShort(inode, start, min(sizes), max(sizes))
        fs.change(inode, new)
        model.content[inode].passing(fs.time, wanted)


def worked_on(fs: Builder) -> int | None:
    assert fs.step is not None
    operation = fs.step.operation
    try:
        return fs.sized(operation.path2 or operation.path)
    except Disagreement:
        return None


def touch_above(fs: Builder, path: str) -> None:
    """Its directory's time may have been set before the call failed."""
    if path in ("", ".") or path[0] == "@":
        return
    try:
        timeline = fs.model.mtimes.get(fs.parent(path)[0])
    except Disagreement:
        return
    if timeline is not None:
        timeline.maybe(fs.time, frozenset((CLOCK,)))
