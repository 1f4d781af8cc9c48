"""
Random workloads: operations drawn one after the other, over a small tree that grows and moves.

In:       a length from 1 to LENGTH_MAX, a seed, a number.
Out:      the workload of these three; the same on every machine.
Not here: bounded sets that are enumerated (ace.py, own.py); shards (space.py).

Every word of a workload is drawn but `fault`, and `parallel` with its `await`; none fills the disk. What
the operations should leave is followed roughly (Tree), so that most of them succeed. One in ten takes any
path, so some fail, and a mistake here costs no more than that. With THREADED some of the operations stand in
parallel blocks; the tree takes them as if they came one after the other.

From LONG operations on it is a long history (LongTree): its tree grows over more names and directories,
offsets and sizes stand at and around the boundaries of blocks, leaves, extents and inline data, fsync and
evict come oftener, subvolumes and remounts more seldom. Shorter ones are as they always were: reports name
them.
"""

import random
from collections.abc import Callable, Sequence

import msgspec

from workloads import text
from workloads.text import K
from workloads.threads import REFUSED, WRITE_BYTES_MAX, interleavings
from workloads.workload import FALLOCATE_MODES, OPEN_FLAGS, PWRITE_MODES, Workload

BOUNDS = "random"
THREADED = "random-threads"
BLOCK_PERCENT = 25  # of the places where a parallel block can begin; less in long histories
BLOCKS = 6  # that are spread over a long one
SHAPES = ((1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (1, 1, 1))  # operations of each of its threads
ORDERS = 100  # that the blocks of one workload may allow, at most: each is a history to judge by
LENGTH_MAX = 2000  # operations of run
LONG = 100
SETUP_MAX = 12
NAMES = ("foo", "bar", "baz", "a-name-of-forty-bytes-makes-an-item-long")
DIRECTORIES = ("A", "B", "C")
DEPTH_MAX = 4
KEPT_MAX = 6  # descriptors at once

BLOCK = 4 * K
# Around the blocks of the filesystems (1 KiB and 4 KiB), what btrfs keeps inline (2 KiB), 64 KiB and 128 KiB.
SIZES = (1, 100, 511, 512, 1000, K, 2 * K, 2048 + 1, 4095, BLOCK, 4097, 6000, 8 * K, 12 * K, 16 * K, 20000)
LARGE = (32 * K, 64 * K - 1, 64 * K, 64 * K + 1, 100000, 128 * K, 132 * K, 256 * K)
OFFSET_MAX = 1024 * K
# Of long histories. A sector; a block of ext4, of 1 KiB; what btrfs keeps inline (max_inline, 2 KiB) and f2fs
# (3,488 B in its inode); a page and block; a leaf of btrfs; an allocation unit; an extent of compressed data
# (BTRFS_MAX_COMPRESSED, 128 KiB); what XFS reserves first behind the end of a file (64 KiB).
BOUNDARIES = (512, K, 2 * K, 3488, BLOCK, 2 * BLOCK, 16 * K, 32 * K, 64 * K, 128 * K, 256 * K, 512 * K)
AROUND = (0, 0, 0, -1, 1, -8, 8, -512, 512)
WIDE_OFFSETS = (
    2 * 1024 * K,
    8 * 1024 * K,
)  # far behind the end: a hole, and extents in another block of the tree
WIDE_MAX = 16 * 1024 * K
LONG_NAMES = (*NAMES, "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n" * 120, "n" * 250)
LONG_DIRECTORIES = ("A", "B", "C", "D", "E", "F")
LONG_XATTR_BYTES = (0, 1, 60, 100, 255, 256, 900, 2000, 3000)
# What is drawn more or less often there. Descriptors are closed as often as opened: while one is kept there
# is no remount.
LONG_WEIGHTS = {"close": 50, "remount": 6, "subvol": 2, "snapshot": 2, "chattr": 2, "evict": 35, "fsync": 130}
FLAGGED = tuple(mode for mode in PWRITE_MODES if mode != "jbd2-magic")  # seeds draw what they always drew
XATTRS = ("user.a", "user.b", "user.c")
XATTR_BYTES = (0, 1, 8, 40, 300, 900, 2000)
MODES = ("600", "640", "644", "700", "755", "777", "000")
OWNERS = ("0:0", "1000:1000", "7:0", "0:65535")
ACLS = ("u::rwx,u:1000:r--,g::r-x,m::r-x,o::---", "u::rw-,g::r--,g:7:rw-,m::rw-,o::r--")
DEVICES = ("chr 1:3", "chr 1:5", "blk 259:4000", "chr 0:0")
FIRST = ("mkdir", "write", "creat")
MAKING = ("creat", "mkdir", "symlink", "write", "write", "link", "fallocate", "setxattr", "tmpfile", "open")


class Thing:
    """An object. kind: dir, file, symlink or other. size: of a file, in bytes. below: a directory's names."""

    __slots__ = ("below", "kind", "size", "subvolume")

    def __init__(self, kind: str, subvolume: bool = False) -> None:
        self.kind, self.subvolume, self.size = kind, subvolume, 0
        self.below: dict[str, Thing] = {}


class Tree:
    """What the operations so far should have left, and the dice for the next. names, directories: for new
    ones. xattr_bytes: sizes of attributes."""

    names: Sequence[str] = NAMES
    directories: Sequence[str] = DIRECTORIES
    xattr_bytes: Sequence[int] = XATTR_BYTES

    def __init__(self, seed: str) -> None:
        self.dice = random.Random(seed)
        self.root = Thing("dir")
        self.kept: dict[str, Thing] = {}
        self.kept_count = 0

    # --- what is there

    def paths(self, *kinds: str) -> list[str]:
        return [path for path, thing in self.every() if not kinds or thing.kind in kinds]

    def every(self) -> list[tuple[str, Thing]]:
        found: list[tuple[str, Thing]] = []

        def walk(directory: Thing, above: str) -> None:
            for name, thing in directory.below.items():
                found.append((above + name, thing))
                walk(thing, above + name + "/")

        walk(self.root, "")
        return found

    def at(self, path: str) -> Thing | None:
        if path in self.kept:
            return self.kept[path]
        thing: Thing | None = self.root
        for name in path.split("/") if path != "." else ():
            thing = thing.below.get(name) if thing else None
        return thing

    def put(self, path: str, thing: Thing | None) -> None:
        above, _, name = path.rpartition("/")
        directory = self.at(above or ".")
        if directory is None or directory.kind != "dir":
            return
        directory.below.pop(name, None)
        if thing is not None:
            directory.below[name] = thing

    # --- what is drawn

    def one(self, choices: Sequence[str]) -> str:
        return self.dice.choice(choices)

    def chance(self, percent: int) -> bool:
        return self.dice.randrange(100) < percent

    def any(self) -> str:
        """A path that may lead to something or to nothing."""
        return self.one([*self.paths(), self.new()])

    def new(self, names: Sequence[str] = ()) -> str:
        """A name in some directory, mostly one that is free; now and then by way of a symlink."""
        names = names or self.names
        above = [path for path in self.paths("dir") if path.count("/") < DEPTH_MAX - 1]
        links = self.paths("symlink") if self.chance(10) else []
        directory = self.one([".", ".", *above, *links])
        thing = self.at(directory)
        free = [name for name in names if thing is None or name not in thing.below]
        name = self.one(free if free and self.chance(95) else (*self.names, *self.directories))
        return name if directory == "." else f"{directory}/{name}"

    def some(self, *kinds: str, kept: str = "") -> str:
        """One of these kinds. kept: the kind of which a descriptor will do as well."""
        found = self.paths(*kinds)
        if kept:
            found += 2 * [name for name, thing in self.kept.items() if thing.kind == kept]
        return self.one(found) if found and self.chance(92) else self.any()

    def file(self) -> str:
        return self.some("file", "file", "symlink" if self.chance(10) else "file", kept="file")

    def object(self) -> str:
        if self.chance(8):
            return "."
        return self.file() if self.chance(60) else self.some(kept="file")

    def length(self) -> int:
        return self.dice.choice(SIZES if self.chance(80) else LARGE)

    def offset(self, path: str) -> int:
        """At the start, around the end of the file, on a block, or anywhere."""
        thing = self.at(path)
        end = thing.size if thing else 0
        block = end // BLOCK * BLOCK
        near = (0, 0, end, end, block, block + BLOCK, end - 1, end + 1, end // 2, end - BLOCK)
        drawn = self.dice.choice((*near, self.length(), BLOCK * self.dice.randrange(40)))
        return min(max(drawn, 0), OFFSET_MAX)

    def range(self, path: str, unit: int = 1) -> tuple[int, int]:
        offset, length = self.offset(path) // unit * unit, max(self.length() // unit, 1) * unit
        return offset, length

    def within(self, path: str, unit: int = 1) -> tuple[int, int]:
        """Bytes that the file should have."""
        thing = self.at(path)
        size = thing.size if thing else 0
        offset = min(self.offset(path), max(size - 1, 0)) // unit * unit
        return offset, max(min(self.length(), size - offset) // unit * unit, min(unit, size))

    def grow(self, path: str, end: int) -> None:
        thing = self.at(path)
        if thing is None:
            thing = Thing("file")
            self.put(path, thing)
        thing.size = max(thing.size, end)

    def keep(self, thing: Thing) -> str:
        self.kept_count += 1
        self.kept[f"@d{self.kept_count}"] = thing
        return f"@d{self.kept_count}"


class LongTree(Tree):
    """Of a long history."""

    names, directories, xattr_bytes = LONG_NAMES, LONG_DIRECTORIES, LONG_XATTR_BYTES

    def length(self) -> int:
        if self.chance(20):
            return super().length()
        return max(self.dice.choice(BOUNDARIES[:9]) + self.dice.choice(AROUND), 1)

    def offset(self, path: str) -> int:
        """At a boundary of the filesystem, or where the file's data ends, and a little beside it."""
        if self.chance(30):
            return super().offset(path)
        thing = self.at(path)
        end = thing.size if thing else 0
        place = end if self.chance(40) else self.dice.choice((0, *BOUNDARIES, *WIDE_OFFSETS))
        if self.chance(25):  # a boundary counted from the end of the file
            place += self.dice.choice((-1, 1)) * self.dice.choice(BOUNDARIES)
        return min(max(place + self.dice.choice(AROUND), 0), WIDE_MAX)


# --- names ---------------------------------------------------------------------------------------


def _make(kind: str, word: str) -> Callable[[Tree], str]:
    def draw(tree: Tree) -> str:
        path = tree.new(tree.directories if kind == "dir" else tree.names)
        if tree.at(path) is None:
            tree.put(path, Thing(kind))
        return f"{word} {path}"

    return draw


def _mknod(tree: Tree) -> str:
    return f"{_make('other', 'mknod')(tree)} {tree.one(DEVICES)}"


def _symlink(tree: Tree) -> str:
    """To something, to nothing, to itself; relative to where it lies, or by chance so."""
    path = tree.new()
    tree.put(path, Thing("symlink"))
    return f"symlink {tree.any() if tree.chance(70) else tree.one((*tree.names, *tree.directories))} {path}"


def _link(tree: Tree) -> str:
    old, new = tree.some("file", "file", "symlink", "other", kept="file"), tree.new()
    thing = tree.at(old)
    if thing is not None and thing.kind != "dir" and tree.at(new) is None:
        tree.put(new, thing)
    return f"link {old} {new}"


def _unlink(tree: Tree) -> str:
    path = tree.some("file", "symlink", "other")
    thing = tree.at(path)
    if thing is not None and thing.kind != "dir":
        tree.put(path, None)
    return f"unlink {path}"


def _rmdir(tree: Tree) -> str:
    """No subvolume: a snapshot holds what its source held, which is not followed, so its rmdir may fail."""
    empty = [
        path
        for path, thing in tree.every()
        if thing.kind == "dir" and not thing.below and not thing.subvolume
    ]
    path = tree.one(empty) if empty else tree.some("dir")
    if path in empty:
        tree.put(path, None)
    return f"rmdir {path}"


def _rename(tree: Tree) -> str:
    mode = tree.one(("", "", "", "", "noreplace", "exchange", "exchange", "whiteout", "whiteout"))
    old = tree.some()
    moved = tree.at(old)
    new = tree.some() if mode == "exchange" or (mode == "" and tree.chance(40)) else tree.new()
    there = tree.at(new)
    fits = moved is not None and not f"{new}/".startswith(f"{old}/") and not f"{old}/".startswith(f"{new}/")
    if fits and mode == "exchange" and there is not None:
        tree.put(new, moved)
        tree.put(old, there)
    elif fits and mode != "exchange" and (there is None or (mode == "" and not there.below)):
        tree.put(old, Thing("other") if mode == "whiteout" else None)
        tree.put(new, moved)
    return f"rename {old} {new} {mode}".rstrip()


def _subvol(tree: Tree) -> str:
    """Without one in another, for a snapshot shows nothing of such."""
    there = [path for path, thing in tree.every() if thing.subvolume]
    if there and tree.chance(40):
        path = tree.one(there)
        tree.put(path, None)
        return f"subvol delete {path}"
    path = tree.one(tree.directories)
    if tree.at(path) is None:
        tree.put(path, Thing("dir", subvolume=True))
    return f"subvol create {path}"


def _snapshot(tree: Tree) -> str:
    there = [path for path, thing in tree.every() if thing.subvolume]
    source = tree.one(there) if there else "."
    path = tree.one(tree.directories)
    if tree.at(path) is None:
        tree.put(path, Thing("dir", subvolume=True))
    return f"snapshot {source} {path}"


# --- descriptors ---------------------------------------------------------------------------------


def _open(tree: Tree) -> str:
    if len(tree.kept) >= KEPT_MAX:
        return _close(tree)
    path = tree.file() if tree.chance(80) else tree.some("dir", "symlink")
    if path in tree.kept:
        path = tree.any()
    thing = tree.at(path)
    if thing is None:
        thing = Thing("file")
        tree.put(path, thing)
        return f"open {path} {tree.keep(thing)} creat"
    flags = ",".join(flag for flag in OPEN_FLAGS if thing.kind == "file" and tree.chance(20))
    return f"open {path} {tree.keep(thing)} {flags}".rstrip()


def _tmpfile(tree: Tree) -> str:
    if len(tree.kept) >= KEPT_MAX:
        return _close(tree)
    return f"tmpfile {tree.one(['.', *tree.paths('dir')])} {tree.keep(Thing('file'))}"


def _close(tree: Tree) -> str:
    if not tree.kept:
        return _fsync(tree)
    name = tree.one(list(tree.kept))
    del tree.kept[name]
    return f"close {name}"


# --- content -------------------------------------------------------------------------------------


def _write(tree: Tree) -> str:
    path = tree.file() if tree.chance(80) else tree.new()
    offset, length = tree.range(path)
    tree.grow(path, offset + length)
    return f"write {path} {offset} {length}"


def _append(tree: Tree) -> str:
    path, length = tree.file() if tree.chance(90) else tree.new(), tree.length()
    thing = tree.at(path)
    tree.grow(path, (thing.size if thing else 0) + length)
    return f"append {path} {length}"


def _pwrite(tree: Tree) -> str:
    path, mode = tree.file(), tree.one(FLAGGED)
    offset, length = tree.range(path, text.SECTOR if "direct" in mode else 1)
    if "direct" in mode and tree.chance(70):
        offset, length = offset // BLOCK * BLOCK, -(-length // BLOCK) * BLOCK
    tree.grow(path, offset + length)
    return f"pwrite {path} {offset} {length} {mode}"


def _mmapwrite(tree: Tree) -> str:
    path = tree.file()
    offset, length = tree.within(path)
    return f"mmapwrite {path} {offset} {max(length, 1)}"


def _msync(tree: Tree) -> str:
    path = tree.file()
    offset, length = tree.within(path)
    return f"msync {path}" if tree.chance(50) else f"msync {path} {offset} {max(length, 1)}"


def _truncate(tree: Tree) -> str:
    path = tree.file()
    thing, size = tree.at(path), tree.offset(path)
    if thing is not None:
        thing.size = size
    return f"truncate {path} {size}"


def _fallocate(tree: Tree) -> str:
    path, mode = tree.file(), tree.one(FALLOCATE_MODES)
    offset, length = tree.range(path, BLOCK if mode in ("collapse-range", "insert-range") else 1)
    thing = tree.at(path)
    if mode in ("alloc", "zero-range"):
        tree.grow(path, offset + length)
    elif thing is not None and mode == "insert-range" and offset < thing.size:
        thing.size += length
    elif thing is not None and mode == "collapse-range" and offset + length < thing.size:
        thing.size -= length
    return f"fallocate {path} {mode} {offset} {length}"


def _two_files(word: str) -> Callable[[Tree], str]:
    def draw(tree: Tree) -> str:
        source, target = tree.file(), tree.file()
        if word == "clone" and tree.chance(40):
            thing = tree.at(source)
            tree.grow(target, thing.size if thing else 0)
            return f"clone {source} {target}"
        unit = 1 if word == "copyrange" else BLOCK
        offset, length = tree.within(source, unit)
        at = offset if word == "dedupe" and tree.chance(70) else tree.offset(target) // unit * unit
        if word != "dedupe":
            tree.grow(target, at + length)
        return f"{word} {source} {target} {offset} {max(length, 1)} {at}"

    return draw


# --- attributes ----------------------------------------------------------------------------------


def _setxattr(tree: Tree) -> str:
    value = tree.one("xyz") * tree.dice.choice(tree.xattr_bytes)
    return f'setxattr {tree.object()} {tree.one(XATTRS)} "{value}"'


def _removexattr(tree: Tree) -> str:
    return f"removexattr {tree.object()} {tree.one(XATTRS)}"


def _attribute(word: str, values: Sequence[str]) -> Callable[[Tree], str]:
    return lambda tree: f"{word} {tree.object()} {tree.one(values)}"


def _utimes(tree: Tree) -> str:
    return f"utimes {tree.object()} {tree.dice.randrange(text.SECONDS_MAX)}"


# --- durability ----------------------------------------------------------------------------------


def _fsync(tree: Tree) -> str:
    kind = tree.dice.randrange(10)
    if kind < 6:
        return f"fsync {tree.file()}"
    if kind < 9:
        return f"fsync {tree.one(['.', *tree.paths('dir')])}"
    return f"fsync {tree.some(kept='dir')}"


def _fdatasync(tree: Tree) -> str:
    return f"fdatasync {tree.file()}"


def _sync_file_range(tree: Tree) -> str:
    path = tree.file()
    offset, length = tree.range(path)
    return f"sync_file_range {path} {offset} {length}"


def _evict(tree: Tree) -> str:
    return f"evict {tree.any()}"


def _remount(tree: Tree) -> str:
    """Not while descriptors are kept (text.py refuses it)."""
    return "sync" if tree.kept else "remount"


# How often each is drawn, of WEIGHT_SUM.
WORDS: dict[str, tuple[int, Callable[[Tree], str]]] = {
    "creat": (40, _make("file", "creat")),
    "mkdir": (40, _make("dir", "mkdir")),
    "mknod": (8, _mknod),
    "mkfifo": (6, _make("other", "mkfifo")),
    "symlink": (25, _symlink),
    "link": (60, _link),
    "unlink": (45, _unlink),
    "rmdir": (20, _rmdir),
    "rename": (90, _rename),
    "subvol": (6, _subvol),
    "snapshot": (6, _snapshot),
    "open": (20, _open),
    "tmpfile": (15, _tmpfile),
    "close": (12, _close),
    "write": (80, _write),
    "append": (30, _append),
    "pwrite": (30, _pwrite),
    "mmapwrite": (20, _mmapwrite),
    "msync": (10, _msync),
    "truncate": (35, _truncate),
    "fallocate": (55, _fallocate),
    "clone": (15, _two_files("clone")),
    "dedupe": (10, _two_files("dedupe")),
    "copyrange": (15, _two_files("copyrange")),
    "setxattr": (30, _setxattr),
    "removexattr": (10, _removexattr),
    "chmod": (12, _attribute("chmod", MODES)),
    "chown": (8, _attribute("chown", OWNERS)),
    "setfacl": (6, _attribute("setfacl", ACLS)),
    "chattr": (
        4,
        _attribute("chattr", ("+A", "-A", "+C", "-C", "+d", "-d", "+a", "-a", "-a", "+i", "-i", "-i")),
    ),
    "utimes": (12, _utimes),
    "fsync": (110, _fsync),
    "fdatasync": (25, _fdatasync),
    "sync_file_range": (6, _sync_file_range),
    "syncfs": (5, lambda tree: "syncfs"),
    "sync": (15, lambda tree: "sync"),
    "evict": (15, _evict),
    "wait": (2, lambda tree: "wait 10"),
    "remount": (4, _remount),
}
# Of the words that are drawn, those that no parallel block has; a descriptor is of one thread.
# mmapwrite: here it is of any length, and in a block it may be of one page alone.
NOT_BESIDE = {*REFUSED, "mmapwrite", "open", "tmpfile", "close"}
WRITING = ("write", "pwrite")
UMOUNT_PERCENT = 6  # of workloads end without a crash


def workload(length: int, seed: int, number: int, bounds: str = BOUNDS) -> Workload:
    """The number-th of that seed, from 0. Its operations in run are `length`, in setup up to SETUP_MAX.
    bounds: BOUNDS or THREADED."""
    assert 1 <= length <= LENGTH_MAX
    is_long = length >= LONG
    tree = (LongTree if is_long else Tree)(f"{bounds} {length} {seed} {number}")
    made_first = (*FIRST, *(tree.one(MAKING) for _ in range(tree.dice.randrange(SETUP_MAX - len(FIRST) + 1))))
    setup = [WORDS[word][1](tree) for word in made_first[tree.dice.randrange(len(FIRST) + 1) :]]
    own = LONG_WEIGHTS if is_long else {}
    weights = {word: own.get(word, weight) for word, (weight, _) in WORDS.items()}
    words = tree.dice.choices(list(weights), list(weights.values()), k=length)
    run = [WORDS[word][1](tree) for word in words] if bounds == BOUNDS else _in_blocks(tree, words, weights)
    # Where the last operation closes a descriptor, that is open still when umount comes in its place.
    if tree.chance(UMOUNT_PERCENT) and not tree.kept and not run[-1].startswith(("close ", " ")):
        run[-1] = "umount"
    lines = [*(["setup"] if setup else []), *setup, "run", *run]
    shown = "\n".join(line if line in text.BLOCKS else f"  {line}" for line in lines)
    made = text.parse(shown, f"{bounds}{length}-{seed}-{number:06}")
    return msgspec.structs.replace(made, theme=bounds)


def _in_blocks(tree: Tree, words: list[str], weights: dict[str, int]) -> list[str]:
    """Lines of so many operations, those of a block indented."""
    beside = {word: weight for word, weight in weights.items() if word not in NOT_BESIDE}
    lines: list[str] = []
    left, orders = len(words), 1
    while left:
        begins = 100 * tree.dice.random() < min(BLOCK_PERCENT, 100 * BLOCKS / len(words))
        shape = tree.dice.choice(SHAPES) if begins else ()
        count = interleavings(shape)
        if not shape or sum(shape) > left or orders * count > ORDERS:
            lines.append(WORDS[words[-left]][1](tree))
            left -= 1
            continue
        orders *= count
        left -= sum(shape)
        lines.append("parallel")
        threads = [tree.dice.choices(list(beside), list(beside.values()), k=size) for size in shape]
        one_writes = sum(word in WRITING for thread in threads for word in thread) == 1
        for thread in threads:
            lines += ["  thread", *(f"    {_at_once(word, tree, one_writes)}" for word in thread)]
    return lines


def _at_once(word: str, tree: Tree, one_writes: bool) -> str:
    """A line whose write is one call. It is direct only if no other one of its block can write these bytes,
    for no order tells what two leave (oracles/model/builder.py, refuse_mixture())."""
    while True:
        line = WORDS[word][1](tree)
        _, *fields = line.split()
        if word not in WRITING or (
            int(fields[2]) <= WRITE_BYTES_MAX and (one_writes or "direct" not in line)
        ):
            return line
