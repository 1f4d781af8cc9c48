"""
The present state of the filesystem while a history is told again, and the model it is written into.

In:       a History's root; what each word does (words.py).
Out:      Builder: names, objects, content as they are now; its Model.
Not here: which word does what (words.py), a call that failed (failed.py), the order of the steps (steps.py).
"""

from typing import Any

import msgspec

from oracles import content as contents
from oracles.content import Content, Source
from oracles.model.model import (
    ALL_BYTES,
    BY_NAME,
    CLOCK,
    CREATED_MODE,
    STIRRING_NOTHING,
    SYMLINKS_MAX,
    Chain,
    Disagreement,
    Inode,
    Mixture,
    Model,
    Persist,
    Rename,
    Slot,
    union,
)
from oracles.observation import TREE_SHIFT, LeftFile
from oracles.profiles import profile, promises_of
from oracles.promises import SYNCHRONOUS, SYNCHRONOUS_ALLOC, SYNCHRONOUS_FALLOCATE, SYNCHRONOUS_NAMES
from oracles.timeline import T, Timeline
from workloads.history import History, Step, stamped, with_magic
from workloads.text import format_operation as words
from workloads.threads import passes_cache
from workloads.workload import Operation


class Builder:
    """The present state of the filesystem, and the model it is written into."""

    def __init__(self, history: History) -> None:
        self.model = Model(base_time=len(history.setup))
        self.filesystem = profile(history.profile).filesystem
        self.gives_blocks_out_at_once = "data=writeback" in profile(history.profile).mount_options
        promised = promises_of(profile(history.profile))
        self.synchronous = SYNCHRONOUS in promised
        self.synchronous_names = self.synchronous or SYNCHRONOUS_NAMES in promised
        self.synchronous_fallocate = SYNCHRONOUS_FALLOCATE in promised
        self.synchronous_alloc = self.synchronous_fallocate or SYNCHRONOUS_ALLOC in promised
        self.now: dict[Slot, int] = {}
        self.chain_at: dict[Slot, int] = {}
        self.time = 0
        self.step: Step | None = None
        self.subvolumes: set[int] = set()
        self.kept: dict[str, tuple[int, str]] = {}  # descriptor to (inode, flags)
        self.errortags: set[str] = set()  # those that are on
        self.looked_up: int | None = None  # the time as of which paths are followed, None for now
        self.beside: list[tuple[Step, int, int, int]] = []  # (step, inode, start, end) that threads wrote
        # Blocks of threads of which one commits again and again, at any time beside the others.
        self.committing = {
            one.operation.parallel for one in history.run if one.operation.word in ("relocate", "trim")
        } - {0}
        self._written = history.written
        self._new_inode(history.root_inode, "dir", "the root")

    def left(self) -> LeftFile | None:
        """The file that the step was about, as it was right after it."""
        assert self.step is not None
        return msgspec.json.decode(self.step.file, type=LeftFile | None)

    def is_fsync(self, operation: Operation) -> bool:
        if operation.word in ("fsync", "fdatasync", "msync"):
            return True
        if not operation.length and operation.word in ("dedupe", "copyrange"):
            return False  # it does not come to the filesystem
        if operation.word in ("clone", "dedupe", "copyrange"):  # fs/btrfs/reflink.c btrfs_remap_file_range()
            files = (operation.path, operation.path2)
            flags = [self.kept[path][1] for path in files if path in self.kept]
            return any("sync" in each for each in (operation.mode, *flags))  # mode: of a program's calls
        writes = operation.word in ("write", "append", "pwrite", "atomicwrite")
        return writes and "sync" in self.how(operation)

    def how(self, operation: Operation) -> str:
        """The flags with which a write goes out."""
        return self.kept[operation.path][1] if operation.path in self.kept else operation.mode

    def source(self, start: int) -> Source:
        """Of the bytes that the step wrote at `start`."""
        assert self.step is not None
        operation = self.step.operation
        data = self._written(self.step) if self.step.data else b""
        if operation.mode == "jbd2-magic":
            data = with_magic(stamped(self.step.index, start, operation.length), start)
        return Source(self.step.index + 1, 0, data, start if data else 0)

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
            raise self._wrong("the path leads through a symlink whose target does not exist in the mount")
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
        raise self._wrong("the path leads through a symlink whose target does not exist in the mount")

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
                f"the kernel shows inode {self.step.inode} and the model has inode "
                f"{self.model.inodes[inode].number}"
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
        if self.step is not None and self.step.made and self.step.inode == number:
            model.modes[id_] = Timeline(self.time, self.step.made[0])
            model.owners[id_] = Timeline(self.time, (self.step.made[1], self.step.made[2]))
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
            raise self._wrong("the recorded inode number is that of the symlink that the path led through")
        if slot in self.now:
            raise self._wrong(f"{path} already exists")
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
            direct = passes_cache(other.operation) or passes_cache(step.operation)
            if of == inode and first < end and start < last and at_once and direct:
                raise Mixture(
                    f"operations {other.index} ({words(other.operation)}) and {step.index} "
                    f"({words(step.operation)}) wrote the same bytes at the same time, and concurrent "
                    "direct writes may mix"
                )
        self.beside.append((step, inode, start, end))

    def file(self, operation: Operation) -> int:
        return self.regular(self.there(operation.path, follow=True), operation)

    def regular(self, inode: int, operation: Operation) -> int:
        if self.model.kind(inode) != "file":
            raise self._wrong(f"{operation.path} is not a file")
        return inode

    def sized(self, path: str) -> int:
        """The file there, whatever the step's inode number says: it is that of another object."""
        inode = self.kept[path][0] if path in self.kept else self.named(path)
        if self.model.kind(inode) == "symlink":
            inode = self._target(self.parent(path)[0], inode, 0)
        if self.model.kind(inode) != "file":
            raise self._wrong(f"{path} is not a file")
        return inode

    def persist(
        self, like: str, inode: int, start: int = 0, end: int = ALL_BYTES, sized: bool = False
    ) -> None:
        assert self.step is not None
        call = words(self.step.operation)
        self.model.persists.append(Persist(self.time, self.step.index, like, inode, call, start, end, sized))

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
