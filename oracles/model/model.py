"""
A filesystem in memory that remembers everything it ever was.

In:       a History.
Out:      Model: the timelines of every name, size, content, attribute and link count.
Not here: which of these times a crash may show (allowed.py), what was found (recovered.py).

A *time* is the number of operations done, counted over setup and run: Step.index + 1 is the time
just after that step, and model.base_time the moment at which setup ended with its implicit sync. Of
operations that overlapped, a Model is that of one order in which they may have had their effects
(orders.py): there a time is a place in that order.

Objects are told apart by inode number, as Step.inode gave it while recording; a number may serve
several objects one after the other, so each object has an id of its own here.
"""

import errno
from typing import Any

import msgspec

from oracles.content import Content
from oracles.timeline import Timeline
from workloads.history import Step

# What is written to these goes to a driver or a reader, and never to the filesystem (open(2), O_TRUNC too).
DRIVEN = ("chr", "blk", "fifo")


# What the agent makes new objects with, under umask 0.
CREATED_MODE = {"file": 0o644, "dir": 0o755, "symlink": 0o777, "fifo": 0o644, "chr": 0o644, "blk": 0o644}


WHITEOUT_DEVICE, WHITEOUT_MODE = "0:0", 0  # include/linux/fs.h


ALL_BYTES = 1 << 62


# Words that leave every object's times as they are.
STIRRING_NOTHING = ("fsync", "fdatasync", "evict", "close", "sync_file_range")


# Words that change what a file holds, which may set its time even where they fail.
CHANGING_CONTENT = ("write", "append", "pwrite", "atomicwrite", "truncate", "fallocate", "clone", "copyrange")


# Words whose last name is looked up under the lock of its directory, when it changes (fs/namei.c:
# do_unlinkat(), do_rmdir(), do_renameat2()).
BY_NAME = ("unlink", "rmdir", "rename")


# Beside fsync and its like: fs/btrfs/ioctl.c create_subvol(), create_snapshot(), btrfs_ioctl_snap_destroy();
# and the timers: 30 s of btrfs and of xfs, 5 s of ext4. A call that failed may have committed to find room.
# And fs/btrfs/ioctl.c btrfs_ioctl_resize(), fs/btrfs/super.c btrfs_freeze(), fs/btrfs/relocation.c
# relocate_block_group(); fs/f2fs/gc.c f2fs_gc(), fs/f2fs/segment.c f2fs_trim_fs(); fs/xfs/xfs_discard.c
# xfs_trim_gather_extents().
COMMITTING = ("crash", "subvol", "snapshot", "wait", "grow", "relocate", "trim", "freeze", "thaw")


# Errors with which a call may end after part of its work: no more room, a device that failed, a signal.
CUT_SHORT = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR)


# What XFS says where a piece of its code was made to fail, and of all calls once it has stopped
# (fs/xfs/xfs_platform.h: EFSCORRUPTED is EUCLEAN).
STOPPING = (errno.EIO, errno.EUCLEAN)


# Words that can return 0 on a filesystem that has stopped: they do nothing there, or tell of no error.
SILENT_WHEN_STOPPED = (
    *("sync", "umount", "evict", "wait", "await", "stop", "close", "sync_file_range", "errortag", "fault"),
)


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


# Words that make the file they write to, and then write: the one may succeed and the other fail.
MAKING_TOO = ("write", "append", "pwrite", "open", "fill")


SYMLINKS_MAX = 40  # include/linux/namei.h: MAXSYMLINKS


Slot = tuple[int, str]  # a directory's id and a name in it


Ranges = tuple[tuple[int, int], ...]


Times = frozenset[int]  # seconds, CLOCK for a time that a clock gave; more than one where nobody says


CLOCK = -1


class Disagreement(Exception):
    """The model and the history do not tell the same story: our mistake, so nothing can be judged."""


class Mixture(Disagreement):
    """Overlapping operations of which no order tells what they did."""


class Inode(msgspec.Struct, frozen=True):
    """One object. number: its st_ino. born: the time since which it exists. made_by: that operation."""

    id: int
    number: int
    kind: str
    born: int
    made_by: str
    target: str = ""
    device: str = ""


class Chain:
    """One link of an inode, followed through its renames.

    slots: (time, slot), oldest first. ended: the time at which unlink, rmdir or a rename onto it took
    it away; None while it lives.
    """

    __slots__ = ("ended", "inode", "slots")

    def __init__(self, inode: int, time: int, slot: Slot) -> None:
        self.inode = inode
        self.slots: list[tuple[int, Slot]] = [(time, slot)]
        self.ended: int | None = None

    def fork(self) -> "Chain":
        copy = Chain.__new__(Chain)
        copy.inode, copy.slots, copy.ended = self.inode, list(self.slots), self.ended
        return copy

    @property
    def born(self) -> int:
        return self.slots[0][0]

    def lives_at(self, time: int) -> bool:
        return self.born <= time and (self.ended is None or self.ended > time)

    def slot_at(self, time: int) -> Slot:
        return [slot for since, slot in self.slots if since <= time][-1]

    def slots_until(self, time: int) -> list[Slot]:
        return list(dict.fromkeys(slot for since, slot in self.slots if since <= time))


class CutShort(msgspec.Struct, frozen=True):
    """A call that wrote to a file in pieces, as its crash may show it: bytes from `start` on were written or
    not, and the size was anywhere from `low` to `high`."""

    inode: int
    start: int
    low: int
    high: int


class Rename(msgspec.Struct, frozen=True):
    time: int
    chain: int
    inode: int
    old: Slot
    new: Slot
    replaced: int | None
    exchanged: bool = False


class Persist(msgspec.Struct, frozen=True):
    """One call that makes things durable. time: just after it. inode: -1 for the whole filesystem.

    like: whose promise it makes: "sync", "fsync" or "fdatasync". call: for a reader.
    start, end: bytes; of a file's data only these. sized: also what is no data there, and the size.
    """

    time: int
    step: int
    like: str
    inode: int
    call: str
    start: int = 0
    end: int = ALL_BYTES
    sized: bool = False


class Model:
    """Timelines of one history; not changed once `build` has returned it."""

    def __init__(self, base_time: int) -> None:
        self.base_time = base_time
        self.end_time = base_time
        self.inodes: list[Inode] = []
        self.by_number: dict[int, list[int]] = {}
        self.entries: dict[Slot, Timeline[int | None]] = {}
        self.names_in: dict[int, set[str]] = {}
        self.content: dict[int, Timeline[Content]] = {}
        self.allocated: dict[int, Timeline[Ranges]] = {}
        self.xattrs: dict[int, dict[str, Timeline[str | None]]] = {}
        self.nlink: dict[int, Timeline[int]] = {}
        self.modes: dict[int, Timeline[int]] = {}
        self.owners: dict[int, Timeline[tuple[int, int]]] = {}
        self.mtimes: dict[int, Timeline[Times]] = {}  # only of objects that utimes set
        self.flags: dict[int, Timeline[str]] = {}  # only of objects that chattr changed
        self.flags_changed: dict[int, set[str]] = {}  # and which it ever did
        self.chains: list[Chain] = []
        self.chains_of: dict[int, list[int]] = {}
        self.renames: list[Rename] = []
        self.linked: list[tuple[int, int, str]] = []  # (time, inode, "link" or "unlink")
        self.persists: list[Persist] = []
        self.extending: set[int] = set()  # times whose step was a write or append
        self.whole: list[tuple[int, int, int, int]] = []  # (time, inode, start, end) of atomic writes
        self.mapped: list[tuple[int, int]] = []  # (time, inode) of writes through a mapping
        self.moving: dict[int, tuple[int, int]] = {}  # time: (inode, offset) of a collapse or insert
        self.zeroing: list[tuple[int, int]] = []  # time and inode of each zero-range
        self.lengthening: set[int] = set()  # times of truncates to a larger size
        self.steps: dict[int, Step] = {}  # by time - 1
        self.numbered: dict[int, Step] = {}  # by Step.index, which is the same but for what ran in parallel
        self.order: list[int] = []  # of run: each Step.index, in the order of the effects
        self.stirred: dict[int, list[int]] = {}  # object to the times whose step may have set its clock times
        self.failed: list[int] = []  # times whose step failed, and may have done so, too
        self.cut_short: dict[int, CutShort] = {}  # by time: what may show of it until its file is promised
        self.untold: dict[int, int] = {}  # file to the time since which nobody knows its size and content
        self.unwritten: dict[int, int] = {}  # file (-1: all) to when a call could not write it out: no room
        self.stopped: int | None = None  # Step.index of the call in which the filesystem stopped
        self.half_done = False  # whether a timeline has values beside
        self.snapshots: dict[int, dict[str, Any]] = {}  # by time; of ordered.py, which alone looks into them
        self.index: Any = None  # of index.py, which alone makes it
        self.logging: set[int] = set()  # times whose step fsyncs an object in some way, even in vain
        self.may_commit: list[int] = []  # in order, times whose step may have committed everything before it

    @property
    def root(self) -> int:
        return 0

    def kind(self, inode: int) -> str:
        return self.inodes[inode].kind

    def ids(self, number: int, kind: str, until: int) -> list[int]:
        """Objects of that kind that had this inode number by then, latest first."""
        return [
            id_
            for id_ in reversed(self.by_number.get(number, []))
            if self.inodes[id_].kind == kind and self.inodes[id_].born <= until
        ]

    def entry(self, slot: Slot, time: int) -> int | None:
        timeline = self.entries.get(slot)
        return None if timeline is None else timeline.at(time)

    def names_at(self, directory: int, time: int) -> dict[str, int]:
        found = {}
        for name in sorted(self.names_in.get(directory, ())):
            inode = self.entries[directory, name].at(time)
            if inode is not None:
                found[name] = inode
        return found

    def path(self, slot: Slot, time: int) -> str:
        """The slot's path then, its directories by the last names they had."""
        directory, name = slot
        parts = [name]
        while directory != self.root and len(parts) < SYMLINKS_MAX:
            chain = self.chains[self.chains_of[directory][0]]
            known = [slot for since, slot in chain.slots if since <= time] or [chain.slots[0][1]]
            directory, name = known[-1]
            parts.append(name)
        return "/".join(reversed(parts))


def union(ranges: Ranges, start: int, end: int) -> Ranges:
    if start >= end:
        return ranges
    apart = [r for r in ranges if r[1] < start or r[0] > end]
    joined = [r for r in ranges if not (r[1] < start or r[0] > end)]
    new = (min([start, *(r[0] for r in joined)]), max([end, *(r[1] for r in joined)]))
    return tuple(sorted([*apart, new]))


def common(one: Ranges, other: Ranges) -> Ranges:
    """What lies in both."""
    return tuple(
        (max(low, start), min(high, end))
        for low, high in one
        for start, end in other
        if max(low, start) < min(high, end)
    )


def without(ranges: Ranges, start: int, end: int) -> Ranges:
    kept = []
    for low, high in ranges:
        if low < min(high, start):
            kept.append((low, min(high, start)))
        if max(low, end) < high:
            kept.append((max(low, end), high))
    return tuple(kept)
