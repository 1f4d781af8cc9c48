"""
A filesystem in memory that remembers everything it ever was.

In:       a History.
Out:      Model: the timelines of every name, size, content, attribute and link count.
Not here: which of these times a crash may show (window.py), what was found (recovered.py).

A *time* is the number of operations done, counted over setup and run: Step.index + 1 is the time
just after that step, and model.base_time the moment at which setup ended with its implicit sync. Of
operations that overlapped, a Model is that of one order in which they may have had their effects
(orders.py): there a time is a place in that order.

Objects are told apart by inode number, as Step.inode gave it while recording; a number may serve
several objects one after the other, so each object has an id of its own here.
"""

import errno
from collections.abc import Callable
from typing import Any

import msgspec

from oracles import content as contents
from oracles.content import Content, Source
from oracles.observation import TREE_SHIFT, LeftFile
from oracles.profiles import profile
from oracles.timeline import T, Timeline
from workloads import acl
from workloads.history import History, Step
from workloads.text import format_operation as words
from workloads.workload import Operation

# What is written to these goes to a driver or a reader, and never to the filesystem (open(2), O_TRUNC too).
DRIVEN = ("chr", "blk", "fifo")

# What the agent makes new objects with, under umask 0.
CREATED_MODE = {"file": 0o644, "dir": 0o755, "symlink": 0o777, "fifo": 0o644, "chr": 0o644, "blk": 0o644}

WHITEOUT_DEVICE, WHITEOUT_MODE = "0:0", 0  # include/linux/fs.h

ALL_BYTES = 1 << 62

# Words that leave every object's times as they are.
STIRRING_NOTHING = ("fsync", "fdatasync", "evict", "close", "sync_file_range")

# Words that change what a file holds, which may set its time even where they fail.
CHANGING_CONTENT = ("write", "append", "pwrite", "truncate", "fallocate", "clone", "copyrange")

# Words whose last name is looked up under the lock of its directory, when it changes (fs/namei.c:
# do_unlinkat(), do_rmdir(), do_renameat2()).
BY_NAME = ("unlink", "rmdir", "rename")

# Beside fsync and its like: fs/btrfs/ioctl.c create_subvol(), create_snapshot(), btrfs_ioctl_snap_destroy();
# and the timers: 30 s of btrfs and of xfs, 5 s of ext4. A call that failed may have committed to find room.
COMMITTING = ("subvol", "snapshot", "wait")
# Errors with which a call may end after part of its work: no more room, a device that failed, a signal.
CUT_SHORT = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR)
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
    start, end: bytes; of a file's data only these.
    """

    time: int
    step: int
    like: str
    inode: int
    call: str
    start: int = 0
    end: int = ALL_BYTES


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
        self.mapped: list[tuple[int, int]] = []  # (time, inode) of writes through a mapping
        self.moving: dict[int, tuple[int, int]] = {}  # time: (inode, offset) of a collapse or insert
        self.steps: dict[int, Step] = {}  # by time - 1
        self.numbered: dict[int, Step] = {}  # by Step.index, which is the same but for what ran in parallel
        self.order: list[int] = []  # of run: each Step.index, in the order of the effects
        self.stirred: dict[int, list[int]] = {}  # object to the times whose step may have set its clock times
        self.failed: list[int] = []  # times whose step failed, and may have done so, too
        self.cut_short: dict[int, CutShort] = {}  # by time: what may show of it until its file is promised
        self.untold: dict[int, int] = {}  # file to the time since which nobody knows its size and content
        self.unwritten: dict[int, int] = {}  # file (-1: all) to when a call could not write it out: no room
        self.half_done = False  # whether a timeline has values beside
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


def build(history: History) -> Model:
    """Errors: Disagreement when a step that succeeded cannot have."""
    builder = Builder(history)
    for step in (*history.setup, *history.run):
        builder.do(step)
    return builder.model


class Builder:
    """The present state of the filesystem, and the model it is written into."""

    def __init__(self, history: History) -> None:
        self.model = Model(base_time=len(history.setup))
        self.filesystem = profile(history.profile).filesystem
        self.now: dict[Slot, int] = {}
        self.chain_at: dict[Slot, int] = {}
        self.time = 0
        self.step: Step | None = None
        self.subvolumes: set[int] = set()
        self.kept: dict[str, tuple[int, str]] = {}  # descriptor to (inode, flags)
        self.looked_up: int | None = None  # the time as of which paths are followed, None for now
        self.beside: list[tuple[Step, int, int, int]] = []  # (step, inode, start, end) that threads wrote
        self._new_inode(history.root_inode, "dir", "the root")

    def do(self, step: Step) -> None:
        if step.index != self.time and not step.operation.parallel:
            raise Disagreement(f"step {step.index} stands where step {self.time} is due")
        self.model.steps[self.time] = self.model.numbered[step.index] = step
        if self.time >= self.model.base_time:
            self.model.order.append(step.index)
        self.time += 1
        self.step = step
        self.model.end_time = self.time
        # Without the file its open failed, and no filesystem heard of it.
        if self._is_fsync(step.operation) and step.result != -errno.ENOENT:
            self.model.logging.add(self.time)
        handler = _WORDS.get(step.operation.word)
        if handler is None:
            raise Disagreement(f"the model does not know the word {step.operation.word}")
        if step.result < 0:
            self.model.failed.append(self.time)
            self._may_have_touched(step.operation)
            if -step.result in CUT_SHORT or self.left() is not None:
                self._half_done(handler)
        if step.result < 0 or step.operation.word in COMMITTING or self.time in self.model.logging:
            self.model.may_commit.append(self.time)
        if step.result == 0:
            handler(self, step.operation)

    def _may_have_touched(self, operation: Operation) -> None:
        """fallocate sets the file's time before it looks whether the range can be had (fs/ext4/extents.c
        ext4_fallocate(), fs/xfs/xfs_file.c xfs_file_fallocate(): file_modified()); a write does so, too."""
        if operation.word not in CHANGING_CONTENT:
            return
        try:
            inode = self.sized(operation.path2 or operation.path)
        except Disagreement:
            return  # it did not come so far
        self.touch(inode, surely=False)

    # --- calls that failed

    def left(self) -> LeftFile | None:
        """The file that the step was about, as it was right after it."""
        assert self.step is not None
        return msgspec.json.decode(self.step.file, type=LeftFile | None)

    def _half_done(self, handler: Callable[["Builder", Operation], None]) -> None:
        """
        The call failed, and may have had part of its effect.

        Names are left out: a call that gives or takes one does so at the end or not at all, in one
        transaction, so a name that a failed call left is a finding. Only the words that make a file before
        they write to it may have done the first without the second: the inode number tells.
        An attribute has the old value or the new one, whichever is seen next (fs/btrfs/inode.c
        btrfs_setattr() sets the mode in memory before it looks for room on the disk). A file's size and
        content are what was seen right after the call; a crash during it may show any part of it.
        """
        step = self.step
        assert step is not None
        operation, known = step.operation, len(self.model.inodes)
        if operation.word in ("fsync", "fdatasync", "msync", "syncfs") and -step.result in NO_ROOM:
            self._not_written()
        self.model.half_done = True
        makes = operation.word in MAKING_TOO and operation.path[0] != "@" and step.inode
        try:
            if makes and self.parent(operation.path) not in self.now:
                self.make(operation, "file", operation.path)
                known += 1
        except Disagreement:
            return  # it did not come so far
        attempt = self.fork()
        try:
            handler(attempt, operation)
        except Disagreement:
            attempt = self  # what it would have done cannot be said: of its file only what was seen
        self._attributes_of(attempt, known)
        self._blocks_of(attempt, known)
        self._content_of(attempt, known)
        for path in (operation.path, operation.path2):
            self._touch_above(path)

    def _not_written(self) -> None:
        """What was to be written out may be lost, and a later call that succeeds need not say so again
        (Documentation/filesystems/vfs.rst, Handling errors during writeback)."""
        assert self.step is not None
        try:
            whole = self.step.operation.word == "syncfs"
            inode = -1 if whole else self.there(self.step.operation.path, follow=True)
        except Disagreement:
            return
        self.model.unwritten.setdefault(inode, self.time)

    def _attributes_of(self, attempt: "Builder", known: int) -> None:
        mine, other = self.model, attempt.model
        self._either(mine.modes, other.modes, known)
        self._either(mine.owners, other.owners, known)
        for inode in other.flags.keys() - mine.flags.keys():
            mine.flags[inode] = Timeline(0, "")
        self._either(mine.flags, other.flags, known)
        for inode, letters in other.flags_changed.items():
            mine.flags_changed.setdefault(inode, set()).update(letters)
        for inode in other.mtimes.keys() - mine.mtimes.keys():
            if inode < known:
                mine.mtimes[inode] = Timeline(0, frozenset((CLOCK,)))
        self._either(mine.mtimes, other.mtimes, known)
        for inode in range(known):
            for name in other.xattrs[inode].keys() - mine.xattrs[inode].keys():
                mine.xattrs[inode][name] = Timeline(0, None)
            for name, line in other.xattrs[inode].items():
                if line.last != mine.xattrs[inode][name].last:
                    mine.xattrs[inode][name].maybe(self.time, line.last)

    def _either(self, mine: dict[int, Timeline[T]], other: dict[int, Timeline[T]], known: int) -> None:
        for inode, line in other.items():
            if inode < known and line.last != mine[inode].last:
                mine[inode].maybe(self.time, line.last)

    def _blocks_of(self, attempt: "Builder", known: int) -> None:
        """What it was to take away may be gone; what it was to allocate nobody promised. zero-range takes
        blocks away, too, to reserve others (fs/xfs/xfs_bmap_util.c xfs_free_file_space(), then
        xfs_alloc_file_space())."""
        operation = self.step.operation if self.step else Operation("")
        if operation.mode.startswith("zero-range") and (inode := self._worked_on()) is not None:
            mine = self.model.allocated[inode]
            end = operation.offset + operation.length
            mine.change(self.time, without(mine.last, operation.offset, end))
        for inode, line in attempt.model.allocated.items():
            timeline = self.model.allocated.get(inode)
            if inode < known and timeline is not None and line.last != timeline.last:
                timeline.change(self.time, common(timeline.last, line.last))

    def _content_of(self, attempt: "Builder", known: int) -> None:
        model, left = self.model, self.left()
        about = {
            inode: line.last
            for inode, line in attempt.model.content.items()
            if inode < known and line.last != model.content[inode].last
        }
        if left is not None and not about and (inode := self._worked_on()) is not None:
            about[inode] = model.content[inode].last
        model.moving.update({time: each for time, each in attempt.model.moving.items() if time == self.time})
        for inode, wanted in about.items():
            old = model.content[inode].last
            new = contents.explained(left.content, (wanted, old)) if left and not left.errors else None
            if left is None or new is None or contents.size_of(new) != left.size:
                model.untold.setdefault(inode, self.time)
                continue
            sizes = [contents.size_of(each) for each in (old, wanted, new)]
            start = contents.same_until(old, wanted)
            model.cut_short[self.time] = CutShort(inode, start, min(sizes), max(sizes))
            self.change(inode, new)
            model.content[inode].passing(self.time, wanted)

    def _worked_on(self) -> int | None:
        assert self.step is not None
        operation = self.step.operation
        try:
            return self.sized(operation.path2 or operation.path)
        except Disagreement:
            return None

    def _touch_above(self, path: str) -> None:
        """Its directory's time may have been set before the call failed."""
        if path in ("", ".") or path[0] == "@":
            return
        try:
            timeline = self.model.mtimes.get(self.parent(path)[0])
        except Disagreement:
            return
        if timeline is not None:
            timeline.maybe(self.time, frozenset((CLOCK,)))

    def _is_fsync(self, operation: Operation) -> bool:
        if operation.word in ("fsync", "fdatasync", "msync"):
            return True
        return operation.word in ("write", "append", "pwrite") and "sync" in self.how(operation)

    def how(self, operation: Operation) -> str:
        """The flags with which a write goes out."""
        return self.kept[operation.path][1] if operation.path in self.kept else operation.mode

    def fork(self) -> "Builder":
        """A copy that goes its own way from here on."""
        copy = Builder.__new__(Builder)
        copy.__dict__.update({name: _forked(value) for name, value in self.__dict__.items()})
        copy.model = Model(self.model.base_time)
        copy.model.__dict__.update({name: _forked(value) for name, value in self.model.__dict__.items()})
        return copy

    # --- paths

    def parent(self, path: str) -> Slot:
        directory, name = self._follow_to_parent(self.model.root, path, 0)
        return directory, name

    def _follow_to_parent(self, start: int, path: str, depth: int) -> Slot:
        *above, name = path.split("/")
        directory = start
        for part in above:
            directory = self._enter(directory, part, depth)
        return directory, name

    def _enter(self, directory: int, name: str, depth: int) -> int:
        if name in ("", "."):
            return directory
        inode = self.seen((directory, name))
        if inode is None:
            raise self._wrong(f"there is no {name}")
        if self.model.kind(inode) == "symlink":
            inode = self._target(directory, inode, depth + 1)
        return inode

    def seen(self, slot: Slot) -> int | None:
        """Where the name leads to as it is looked up."""
        if self.looked_up is None:
            return self.now.get(slot)
        return self.model.entry(slot, self.looked_up)

    def _target(self, directory: int, symlink: int, depth: int) -> int:
        target = self.model.inodes[symlink].target
        if depth > SYMLINKS_MAX or target.startswith("/"):
            raise self._wrong("a symlink that leads nowhere in the mount")
        slot = self._follow_to_parent(directory, target, depth)
        return self._enter(*slot, depth)

    def opened(self, path: str) -> Slot:
        """Where open(2) with O_CREAT looks for the file and makes it: a symlink at the end is followed, one
        that dangles as well."""
        slot = self.parent(path)
        for depth in range(SYMLINKS_MAX + 1):
            inode = self.seen(slot)
            if inode is None or self.model.kind(inode) != "symlink":
                return slot
            target = self.model.inodes[inode].target
            if target.startswith("/"):
                break
            slot = self._follow_to_parent(slot[0], target, depth)
        raise self._wrong("a symlink that leads nowhere in the mount")

    def there(self, path: str, follow: bool) -> int:
        """The object at `path`; errors: Disagreement when there is none."""
        inode = self._there(path, follow)
        self.stir(inode)
        return inode

    def stir(self, inode: int) -> None:
        """A step that is about it may set its times, but for those that only write it out."""
        assert self.step is not None
        if self.step.operation.word not in STIRRING_NOTHING:
            self.model.stirred.setdefault(inode, []).append(self.time)

    def _there(self, path: str, follow: bool) -> int:
        if path in self.kept:
            self._check_number(self.kept[path][0])
            return self.kept[path][0]
        if path in ("", "."):
            return self.model.root
        assert self.step is not None
        slot = self.parent(path)
        # The others are called with an object that was looked up, or opened, before.
        inode = self.now.get(slot) if self.step.operation.word in BY_NAME else self.seen(slot)
        if inode is None:
            raise self._wrong(f"there is no {path}")
        symlink = -1
        if follow and self.model.kind(inode) == "symlink":
            inode, symlink = self._target(slot[0], inode, 0), inode
        self._check_number(inode, symlink)
        return inode

    def _check_number(self, inode: int, symlink: int = -1) -> None:
        """symlink: what led there, or -1; older recordings have its number in place of the object's."""
        assert self.step is not None
        if self.step.operation.word in ("unlink", "rmdir") or self.step.inode == 0:
            return
        if symlink >= 0 and self.model.inodes[symlink].number == self.step.inode:
            return
        if self.model.inodes[inode].number != self.step.inode:
            raise self._wrong(
                f"inode {self.step.inode} where the model has {self.model.inodes[inode].number}"
            )

    def _wrong(self, what: str) -> Disagreement:
        assert self.step is not None
        return Disagreement(
            f"operation {self.step.index} ({words(self.step.operation)}) succeeded, but {what}"
        )

    # --- objects and names

    def _new_inode(self, number: int, kind: str, made_by: str, target: str = "", device: str = "") -> int:
        model = self.model
        id_ = len(model.inodes)
        model.inodes.append(Inode(id_, number, kind, self.time, made_by, target, device))
        model.by_number.setdefault(number, []).append(id_)
        model.xattrs[id_] = {}
        model.nlink[id_] = Timeline(self.time, 0)
        model.modes[id_] = Timeline(self.time, CREATED_MODE[kind])
        model.owners[id_] = Timeline(self.time, (0, 0))
        model.chains_of[id_] = []
        if kind == "file":
            model.content[id_] = Timeline(self.time, contents.EMPTY)
            model.allocated[id_] = Timeline(self.time, ())
        if kind == "dir":
            model.names_in[id_] = set()
        return id_

    def make(
        self,
        operation: Operation,
        kind: str,
        path: str,
        target: str = "",
        device: str = "",
        number: int | None = None,
        slot: Slot | None = None,
    ) -> int:
        """number: its st_ino, where that is not Step.inode. slot: where a symlink at `path` leads to."""
        assert self.step is not None
        number = self.step.inode if number is None else number
        through = slot is not None and self.now.get(self.parent(path))
        slot = self.parent(path) if slot is None else slot
        if through and self.model.inodes[through].number == number:
            raise self._wrong("the inode number that was recorded is that of the symlink it went through")
        if slot in self.now:
            raise self._wrong(f"{path} was there already")
        if number == 0:
            raise self._wrong("no inode number was recorded")
        inode = self._new_inode(number, kind, words(operation), target, device)
        self.add_name(slot, inode)
        return inode

    def move_names(self, moves: dict[Slot, Slot], replaced: int | None = None) -> None:
        """Links from an old slot to a new one, all at once; what was replaced is gone already."""
        model = self.model
        moved = [(old, new, self.now[old], self.chain_at.pop(old)) for old, new in moves.items()]
        for old, *_ in moved:
            self._set(old, None)
        for old, new, inode, chain in moved:
            self._set(new, inode)
            self.stir(inode)
            self.chain_at[new] = chain
            if model.kind(inode) == "dir" and old[0] != new[0]:
                self._new_parent(inode, exchanged=len(moves) > 1)
            model.chains[chain].slots.append((self.time, new))
            model.renames.append(Rename(self.time, chain, inode, old, new, replaced, len(moves) > 1))

    def _new_parent(self, directory: int, exchanged: bool) -> None:
        """Its ".." is another: fs/xfs/libxfs/xfs_dir2.c xfs_dir_exchange_children() sets its time (ip1_flags,
        ip2_flags); fs/f2fs/dir.c f2fs_set_link() sets that of any directory in which an entry changes (5.10
        does so where no whiteout is left)."""
        if self.filesystem == "xfs" and exchanged:
            self.touch(directory)
        if self.filesystem == "f2fs":
            self.touch(directory, surely=False)

    def add_name(self, slot: Slot, inode: int) -> None:
        self._set(slot, inode)
        self.chain_at[slot] = len(self.model.chains)
        self.model.chains_of[inode].append(len(self.model.chains))
        self.model.chains.append(Chain(inode, self.time, slot))
        self._count_links(inode, +1)

    def drop_name(self, slot: Slot) -> int:
        inode = self.now[slot]
        self._set(slot, None)
        self.model.chains[self.chain_at.pop(slot)].ended = self.time
        self._count_links(inode, -1)
        return inode

    def _count_links(self, inode: int, by: int) -> None:
        self.stir(inode)
        timeline = self.model.nlink[inode]
        timeline.change(self.time, timeline.last + by)

    def _set(self, slot: Slot, inode: int | None) -> None:
        timeline = self.model.entries.get(slot)
        if timeline is None:
            timeline = self.model.entries[slot] = Timeline(0, None)
            self.model.names_in[slot[0]].add(slot[1])
        timeline.change(self.time, inode)
        self.touch(slot[0])
        self.stir(slot[0])
        if inode is None:
            self.now.pop(slot, None)
        else:
            self.now[slot] = inode

    # --- subvolumes

    def named(self, path: str) -> int:
        """The object there, whatever the step's inode number says: it is that of another object."""
        inode = self.model.root if path == "." else self.seen(self.parent(path))
        if inode is None:
            raise self._wrong(f"there is no {path}")
        return inode

    def tree(self, directory: int) -> list[tuple[Slot, int]]:
        """Every name below it, parents first."""
        found = []
        for name in sorted(self.model.names_in.get(directory, ())):
            inode = self.now.get((directory, name))
            if inode is not None:
                found += [((directory, name), inode), *self.tree(inode)]
        return found

    def drop_tree(self, top: Slot) -> None:
        for slot, _ in reversed([(top, self.now[top]), *self.tree(self.now[top])]):
            self.model.linked.append((self.time, self.drop_name(slot), "unlink"))

    def copy(self, operation: Operation, inode: int, tree: int) -> int:
        """The same object in another subvolume, as yet without a name."""
        model, old = self.model, self.model.inodes[inode]
        number = old.number % (1 << TREE_SHIFT) | tree << TREE_SHIFT
        new = self._new_inode(number, old.kind, words(operation), old.target, old.device)
        self.carry(model.modes, inode, new)
        self.carry(model.owners, inode, new)
        self.carry(model.flags, inode, new)
        self.carry(model.content, inode, new)
        self.carry(model.allocated, inode, new)
        if inode in model.flags_changed:
            model.flags_changed[new] = set(model.flags_changed[inode])
        model.xattrs[new] = {
            name: Timeline(self.time, line.last) for name, line in model.xattrs[inode].items()
        }
        return new

    def carry(self, timelines: dict[int, Timeline[T]], inode: int, new: int) -> None:
        if inode in timelines:
            timelines[new] = Timeline(self.time, timelines[inode].last)

    # --- content

    def refuse_mixture(self, inode: int, start: int, end: int) -> None:
        """A write with O_DIRECT shares the file's lock with others (fs/xfs/xfs_file.c
        xfs_file_dio_write_aligned(), fs/ext4/file.c ext4_dio_write_checks()): of two to the same bytes at
        once some may be of the one and some of the other."""
        step = self.step
        assert step is not None
        for other, of, first, last in self.beside:
            at_once = other.begin_entry < step.end_entry and step.begin_entry < other.end_entry
            direct = "direct" in other.operation.mode + step.operation.mode
            if of == inode and first < end and start < last and at_once and direct:
                raise Mixture(
                    f"operations {other.index} ({words(other.operation)}) and {step.index} "
                    f"({words(step.operation)}) wrote the same bytes at once, and direct writes may mix"
                )
        self.beside.append((step, inode, start, end))

    def file(self, operation: Operation) -> int:
        return self.regular(self.there(operation.path, follow=True), operation)

    def regular(self, inode: int, operation: Operation) -> int:
        if self.model.kind(inode) != "file":
            raise self._wrong(f"{operation.path} is no file")
        return inode

    def sized(self, path: str) -> int:
        """The file there, whatever the step's inode number says: it is that of another object."""
        inode = self.kept[path][0] if path in self.kept else self.named(path)
        if self.model.kind(inode) == "symlink":
            inode = self._target(self.parent(path)[0], inode, 0)
        if self.model.kind(inode) != "file":
            raise self._wrong(f"{path} is no file")
        return inode

    def persist(self, like: str, inode: int, start: int = 0, end: int = ALL_BYTES) -> None:
        assert self.step is not None
        call = words(self.step.operation)
        self.model.persists.append(Persist(self.time, self.step.index, like, inode, call, start, end))

    def change(self, inode: int, content: Content) -> None:
        self.stir(inode)
        self.model.content[inode].change(self.time, content)
        self.touch(inode, surely=False)

    def touch(self, inode: int, surely: bool = True) -> None:
        """Its content changed: a clock sets its time; or may, where nobody says."""
        timeline = self.model.mtimes.get(inode)
        if timeline is not None:
            timeline.change(self.time, frozenset((CLOCK,)) if surely else timeline.last | {CLOCK})

    def allocate(self, inode: int, start: int, end: int) -> None:
        timeline = self.model.allocated[inode]
        timeline.change(self.time, union(timeline.last, start, end))


def _forked(value: Any) -> Any:
    """Whatever a step may change; all else is frozen."""
    if isinstance(value, dict):
        return {key: _forked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_forked(each) for each in value]
    if isinstance(value, set):
        return set(value)
    if isinstance(value, (Timeline, Chain)):
        return value.fork()
    return value


# --- the words, each as its manual page tells it


def _creat(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "file", operation.path)


def _mkdir(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "dir", operation.path)


def _mknod(fs: Builder, operation: Operation) -> None:
    fs.make(operation, operation.mode, operation.path, device=operation.device)


def _mkfifo(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "fifo", operation.path)


def _subvolume(fs: Builder, operation: Operation) -> None:
    if operation.mode == "create":
        inode = fs.make(operation, "dir", operation.path)
        # fs/btrfs/inode.c btrfs_new_subvol_inode(): all that the umask leaves
        fs.model.modes[inode] = Timeline(fs.time, 0o777)
        fs.subvolumes.add(inode)
        return
    slot = fs.parent(operation.path)
    if fs.now.get(slot) not in fs.subvolumes:
        raise fs._wrong(f"{operation.path} is no subvolume")
    fs.drop_tree(slot)


def _snapshot(fs: Builder, operation: Operation) -> None:
    """All of a subvolume at once, with inode numbers of its own."""
    assert fs.step is not None
    source = fs.named(operation.path)
    if source != fs.model.root and source not in fs.subvolumes:
        raise fs._wrong(f"{operation.path} is no subvolume")
    tree = fs.step.inode >> TREE_SHIFT
    below = fs.tree(source)
    if fs.subvolumes & {inode for _, inode in below}:
        raise fs._wrong(f"{operation.path} holds a subvolume: what a snapshot shows for it is not modelled")
    # fs/btrfs/transaction.c create_pending_snapshot(): the tree is copied before its parent's time is set
    seconds = {inode: line.last for inode, line in fs.model.mtimes.items()}
    copies = {source: fs.copy(operation, source, tree)}
    fs.subvolumes.add(copies[source])
    for _, inode in below:
        if inode not in copies:
            copies[inode] = fs.copy(operation, inode, tree)
    fs.add_name(fs.parent(operation.path2), copies[source])
    for (directory, name), inode in below:
        fs.add_name((copies[directory], name), copies[inode])
    for inode, copy in copies.items():  # after the names, which touch directories
        if inode in seconds:
            fs.model.mtimes[copy] = Timeline(fs.time, seconds[inode])


def _symlink(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "symlink", operation.path, operation.target)


def _link(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    slot = fs.parent(operation.path2)
    if slot in fs.now:
        raise fs._wrong(f"{operation.path2} was there already")
    fs.add_name(slot, inode)
    fs.model.linked.append((fs.time, inode, "link"))


def _unlink(fs: Builder, operation: Operation) -> None:
    fs.there(operation.path, follow=False)
    inode = fs.drop_name(fs.parent(operation.path))
    fs.model.linked.append((fs.time, inode, "unlink"))


def _rename(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    old, new = fs.parent(operation.path), fs.parent(operation.path2)
    replaced = fs.now.get(new)
    if replaced == inode:
        return  # rename(2): two names of one file: nothing happens
    if operation.mode == "exchange":
        if replaced is None:
            raise fs._wrong(f"there is no {operation.path2} to exchange with")
        fs.move_names({old: new, new: old})
        return
    if replaced is not None:
        if operation.mode == "noreplace":
            raise fs._wrong(f"{operation.path2} was there already")
        fs.drop_name(new)
    fs.move_names({old: new}, replaced)
    if operation.mode == "whiteout":
        assert fs.step is not None
        left = fs.step.left_inode
        inode = fs.make(operation, "chr", operation.path, device=WHITEOUT_DEVICE, number=left)
        fs.model.modes[inode] = Timeline(fs.time, WHITEOUT_MODE)


def _write(fs: Builder, operation: Operation) -> None:
    assert fs.step is not None
    fs.model.extending.add(fs.time)
    makes = not operation.parallel and operation.path not in fs.kept  # agent/calls.c: write_stamped()
    slot = fs.opened(operation.path) if makes else None
    if makes and slot not in fs.now:
        inode = fs.make(operation, "file", operation.path, slot=slot)
    else:
        inode = fs.there(operation.path, follow=True)
    if fs.model.kind(inode) in DRIVEN:
        return
    inode = fs.regular(inode, operation)
    old = fs.model.content[inode].last
    start = contents.size_of(old) if operation.word == "append" else operation.offset
    end = start + operation.length
    if operation.parallel:
        fs.refuse_mixture(inode, start, end)
    fs.change(inode, contents.written(old, start, end, Source(fs.step.index + 1)))
    fs.allocate(inode, start, end)
    how = fs.how(operation)
    if "sync" in how and start < end:
        fs.persist("fdatasync" if "dsync" in how else "fsync", inode, start, end)


def _fill(fs: Builder, operation: Operation) -> None:
    """How much there was to have, the file itself tells."""
    left = fs.left()
    if left is None:
        raise fs._wrong("its size was not recorded")
    missing = operation.path not in fs.kept and fs.parent(operation.path) not in fs.now
    inode = fs.make(operation, "file", operation.path) if missing else fs.file(operation)
    old = fs.model.content[inode].last
    start = contents.size_of(old)
    fs.change(inode, contents.resized(old, left.size))
    fs.allocate(inode, start, left.size)
    # It may have been longer while it was made: what LEAVE gave back.
    fs.model.cut_short[fs.time] = CutShort(inode, min(start, left.size), min(start, left.size), ALL_BYTES)


def _between(fs: Builder, operation: Operation) -> tuple[int, int, int, int]:
    """Source, target, and the source's bytes that clone, dedupe and copyrange are about."""
    source, target = fs.sized(operation.path), fs.sized(operation.path2)
    size = contents.size_of(fs.model.content[source].last)
    end = operation.offset + operation.length if operation.length else size
    if end > size:
        raise fs._wrong(f"{operation.path} has but {size} bytes")
    return source, target, operation.offset, end


def _clone(fs: Builder, operation: Operation) -> None:
    source, target, start, end = _between(fs, operation)
    fs.model.extending.add(fs.time)
    by = operation.at - start
    new = fs.model.content[target].last
    moved = contents.shifted(contents.part(fs.model.content[source].last, start, end), by)
    for extent in moved:
        new = contents.written(new, extent.start, extent.end, extent.source)
    fs.change(target, new)
    _share_blocks(fs, source, target, (start, end), by)


def _dedupe(fs: Builder, operation: Operation) -> None:
    source, target, start, end = _between(fs, operation)
    _share_blocks(fs, source, target, (start, end), operation.at - start)


def _share_blocks(fs: Builder, source: int, target: int, part: tuple[int, int], by: int) -> None:
    """The target has blocks where the source has data; its reserved space need not be taken along."""
    start, end = part
    timeline = fs.model.allocated[target]
    kept = without(timeline.last, start + by, end + by)
    written = [each for each in contents.part(fs.model.content[source].last, start, end) if each.source.stamp]
    for low, high in fs.model.allocated[source].last:
        for extent in written:
            kept = union(kept, max(low, extent.start) + by, min(high, extent.end) + by)
    timeline.change(fs.time, kept)


def _chmod(fs: Builder, operation: Operation) -> None:
    inode, mode = fs.there(operation.path, follow=True), int(operation.mode, 8)
    fs.model.modes[inode].change(fs.time, mode)
    line = fs.model.xattrs[inode].get(acl.ACCESS)
    if line is not None and line.last is not None:
        entries = acl.decoded(bytes.fromhex(line.last))
        line.change(fs.time, acl.encoded(acl.with_mode(entries, mode)).hex())


def _setfacl(fs: Builder, operation: Operation) -> None:
    inode, entries = fs.there(operation.path, follow=False), acl.entries(operation.value)
    line = fs.model.xattrs[inode].setdefault(acl.ACCESS, Timeline(0, None))
    line.change(fs.time, acl.encoded(entries).hex())
    fs.model.modes[inode].change(fs.time, acl.mode_of(entries))


def _chown(fs: Builder, operation: Operation) -> None:
    user, group = operation.value.split(":")
    inode = fs.there(operation.path, follow=True)
    fs.model.owners[inode].change(fs.time, (int(user), int(group)))


def _utimes(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=True)
    timeline = fs.model.mtimes.setdefault(inode, Timeline(0, frozenset((CLOCK,))))
    timeline.change(fs.time, frozenset((operation.length,)))


def _chattr(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=True)
    timeline = fs.model.flags.setdefault(inode, Timeline(0, ""))
    sign, letter = operation.mode[0], operation.mode[1]
    fs.model.flags_changed.setdefault(inode, set()).add(letter)
    flags = set(timeline.last) - {letter} | ({letter} if sign == "+" else set())
    timeline.change(fs.time, "".join(sorted(flags)))


def _mmapwrite(fs: Builder, operation: Operation) -> None:
    assert fs.step is not None
    inode = fs.file(operation)
    old = fs.model.content[inode].last
    start, end = operation.offset, operation.offset + operation.length
    if end > contents.size_of(old):
        raise fs._wrong("it reaches behind the end of file")
    fs.model.mapped.append((fs.time, inode))
    fs.change(inode, contents.written(old, start, end, Source(fs.step.index + 1)))
    fs.allocate(inode, start, end)


def _msync(fs: Builder, operation: Operation) -> None:
    inode = fs.file(operation)
    end = operation.offset + operation.length
    fs.persist("fdatasync", inode, operation.offset, end or ALL_BYTES)


def _open(fs: Builder, operation: Operation) -> None:
    flags = operation.mode.split(",")
    slot = fs.opened(operation.path) if "creat" in flags and operation.path != "." else None
    if slot is not None and slot not in fs.now:
        inode = fs.make(operation, "file", operation.path, slot=slot)
    else:
        inode = fs.there(operation.path, follow=True)
    if "trunc" in flags and fs.model.kind(inode) == "file":
        _resize(fs, inode, 0)
    fs.kept[operation.descriptor] = (inode, operation.mode)


def _close(fs: Builder, operation: Operation) -> None:
    del fs.kept[operation.path]


def _tmpfile(fs: Builder, operation: Operation) -> None:
    assert fs.step is not None
    inode = fs._new_inode(fs.step.inode, "file", words(operation))
    fs.kept[operation.descriptor] = (inode, "")


def _truncate(fs: Builder, operation: Operation) -> None:
    _resize(fs, fs.file(operation), operation.length)


def _resize(fs: Builder, inode: int, size: int) -> None:
    fs.change(inode, contents.resized(fs.model.content[inode].last, size))
    allocated = fs.model.allocated[inode]
    # Preallocation behind the end goes with any truncate, or stays: nobody promises which.
    allocated.change(fs.time, without(allocated.last, size, ALL_BYTES))


def _fallocate(fs: Builder, operation: Operation) -> None:
    inode = fs.file(operation)
    start, end = operation.offset, operation.offset + operation.length
    old = fs.model.content[inode].last
    new = _FALLOCATED[operation.mode](old, start, end)
    if operation.mode in ("alloc", "zero-range"):
        fs.model.extending.add(fs.time)  # ext4 commits between two tries (ext4_should_retry_alloc())
    fs.change(inode, new)
    allocated = fs.model.allocated[inode]
    if operation.mode in ("collapse-range", "insert-range"):
        fs.model.moving[fs.time] = (inode, start)
        allocated.change(fs.time, ())
    elif operation.mode == "punch-hole":
        allocated.change(fs.time, without(allocated.last, start, end))
    else:
        fs.allocate(inode, start, end)


def _zeroed(old: Content, start: int, end: int) -> Content:
    end = min(end, contents.size_of(old))
    return contents.written(old, start, end, contents.ZERO)


def _grown(old: Content, end: int) -> Content:
    return contents.resized(old, max(end, contents.size_of(old)))


_FALLOCATED: dict[str, Callable[[Content, int, int], Content]] = {
    "alloc": lambda old, start, end: _grown(old, end),
    "keep-size": lambda old, start, end: old,
    "punch-hole": _zeroed,
    "zero-range": lambda old, start, end: _zeroed(_grown(old, end), start, end),
    "zero-range-keep-size": _zeroed,
    "collapse-range": lambda old, start, end: contents.collapsed(old, start, end - start),
    "insert-range": lambda old, start, end: contents.inserted(old, start, end - start),
}


def _setxattr(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    timeline = fs.model.xattrs[inode].setdefault(operation.name, Timeline(0, None))
    timeline.change(fs.time, operation.value.encode().hex())


def _removexattr(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    timeline = fs.model.xattrs[inode].setdefault(operation.name, Timeline(0, None))
    timeline.change(fs.time, None)


def _fsync(fs: Builder, operation: Operation) -> None:
    fs.persist(operation.word, fs.there(operation.path, follow=True))


def _sync(fs: Builder, operation: Operation) -> None:
    fs.persist("sync", -1)


def _nothing(fs: Builder, operation: Operation) -> None:
    """Leaves the disk's meaning as it is."""


_WORDS: dict[str, Callable[[Builder, Operation], None]] = {
    "creat": _creat,
    "mkdir": _mkdir,
    "mknod": _mknod,
    "mkfifo": _mkfifo,
    "subvol": _subvolume,
    "snapshot": _snapshot,
    "symlink": _symlink,
    "link": _link,
    "unlink": _unlink,
    "rmdir": _unlink,
    "rename": _rename,
    "write": _write,
    "append": _write,
    "clone": _clone,
    "dedupe": _dedupe,
    "copyrange": _clone,
    "chmod": _chmod,
    "chown": _chown,
    "setfacl": _setfacl,
    "utimes": _utimes,
    "chattr": _chattr,
    "sync_file_range": _nothing,
    "syncfs": _sync,
    "wait": _nothing,
    "pwrite": _write,
    "mmapwrite": _mmapwrite,
    "msync": _msync,
    "open": _open,
    "close": _close,
    "tmpfile": _tmpfile,
    "truncate": _truncate,
    "fallocate": _fallocate,
    "fill": _fill,
    "setxattr": _setxattr,
    "removexattr": _removexattr,
    "fsync": _fsync,
    "fdatasync": _fsync,
    "sync": _sync,
    "await": _nothing,
    "remount": _sync,
    "umount": _sync,
    "evict": _nothing,
    "fault": _nothing,
}


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
