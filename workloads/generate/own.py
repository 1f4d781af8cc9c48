"""
Our own bounds, further than ACE's: `link-rename-fsync` and `full`, in a fixed order.

In:       bounds, a length from 1 to LENGTH_MAX, a number from 0 to count(bounds, length) - 1.
Out:      the workload of that number; None where an earlier one is the same but for the names of its files.
Not here: shards and samples (space.py), which tree a sequence needs at its start (tree.py).

A workload is `length` operations, each followed by what makes something durable: fsync of the file, of the
other file in its directory, of its directory or directories, of the root; sync; or nothing, the last one
never. What the operations find, and nothing else, is made by the setup: so it is durable, and in the cache.
No operation fails for want of a name; rename to a free name is one operation, to a taken name another.

`link-rename-fsync` has what changes names, in the root and two directories with two names each. `full` has
every word but `wait`, `umount`, `fault`, `fill`, `atomicwrite`, `defragment`, `verity`, `relocate`,
`trim` and `crash`, in two directories with two names each, one size or range a word, one kept descriptor,
and syncfs, fdatasync and, of a mapping, msync.
Some of its words are not for every filesystem; there they fail, and the run says so.

Two workloads are the same but for names when foo and bar, or A and B, change places in all of it.
"""

import itertools
from collections.abc import Iterator
from functools import cache

import msgspec

from workloads import text
from workloads.generate.tree import DIRECTORIES, NAMES, ROOT, Impossible, Thing, Tree, parent, sibling
from workloads.workload import Workload

BOUNDS = ("link-rename-fsync", "full")
SHORT = {"link-rename-fsync": "names", "full": "full"}
PLACES = {"link-rename-fsync": (ROOT, *DIRECTORIES), "full": DIRECTORIES}
NOTHING = "nothing"
HELD = "@d"

# One of each word that changes a file, with what it needs of it. {} is the file.
_CONTENT = (
    ("write {} 0 8K", ""),
    ("append {} 4K", ""),
    ("pwrite {} 0 8K direct", ""),
    ("pwrite {} 0 4K dsync", ""),
    ("pwrite {} 0 4K sync", ""),
    ("pwrite {} 0 8K direct-dsync", ""),
    ("pwrite {} 0 8K direct-sync", ""),
    ("mmapwrite {} 0 4K", "filled"),
    ("truncate {} 0", "filled"),
    ("truncate {} 2500", "filled"),
    ("truncate {} 64K", ""),
    ("fallocate {} alloc 8K 8K", ""),
    ("fallocate {} keep-size 8K 8K", ""),
    ("fallocate {} punch-hole 0 4K", "filled"),
    ("fallocate {} zero-range 4K 8K", "filled"),
    ("fallocate {} zero-range-keep-size 4K 8K", "filled"),
    ("fallocate {} collapse-range 0 4K", "filled"),
    ("fallocate {} insert-range 4K 4K", "filled"),
    ("sync_file_range {} 0 8K", "filled"),
    ("setxattr {} user.a new", ""),
    ("removexattr {} user.a", "attribute"),
    ("chmod {} 600", ""),
    ("chown {} 1:1", ""),
    ("setfacl {} u::rw-,u:7:r--,g::r--,m::r--,o::---", ""),
    ("utimes {} 1000", ""),
    ("chattr {} +A", ""),
    ("evict {}", ""),
)
_NODES = {"symlink": "symlink gone {}", "mkfifo": "mkfifo {}", "mknod": "mknod {} chr 1:3"}
_FILLS = ("write", "truncate {} 64K", "pwrite {} 0 8K", "fallocate {} alloc")
_EMPTIES = ("truncate {} 0", "truncate {} 2500", "fallocate {} collapse")


class Act(msgspec.Struct, frozen=True):
    """An operation. word: what it does, the text form with {} for names where it is no more than that."""

    word: str
    names: tuple[str, ...] = ()


@cache
def acts(bounds: str) -> tuple[Act, ...]:
    return tuple(_acts(bounds))


def _acts(bounds: str) -> Iterator[Act]:
    full = bounds == "full"
    paths = [name if place == ROOT else f"{place}/{name}" for place in PLACES[bounds] for name in NAMES]
    pairs = list(itertools.permutations(paths, 2))
    both = [*itertools.combinations(sorted(paths), 2), DIRECTORIES]
    moves = [*pairs, DIRECTORIES, DIRECTORIES[::-1]]
    yield from (Act("creat", (path,)) for path in paths)
    yield from (Act("link", pair) for pair in pairs)
    yield from (Act("unlink", (path,)) for path in paths)
    yield from (Act("rename", pair) for pair in moves)
    yield from (Act("replace", pair) for pair in moves)
    yield from (Act("exchange", pair) for pair in both)
    yield from (Act(word, (path,)) for word in ("mkdir", "rmdir") for path in DIRECTORIES)
    if not full:
        return
    yield from (Act(word, (path,)) for word, _ in _CONTENT for path in paths)
    yield from (Act("whiteout", pair) for pair in moves)
    yield from (Act(word, (path,)) for word in ("symlink", "mkfifo", "mknod") for path in paths)
    yield from (Act(word, pair) for word in ("clone", "copyrange", "dedupe") for pair in pairs)
    yield from (Act("open", (path,)) for path in paths)
    yield from (Act("tmpfile", (path,)) for path in DIRECTORIES)
    yield from (Act("link held", (path,)) for path in paths)
    yield from (Act("write held"), Act("close"), Act("remount"))
    yield from (Act(word, (path,)) for word in ("subvol create", "subvol delete") for path in DIRECTORIES)
    yield from (Act("snapshot", pair) for pair in (DIRECTORIES, DIRECTORIES[::-1]))


# --- what an operation does to the tree ----------------------------------------------------------

ANY_FILE = ("file", "other")


def apply(tree: Tree, act: Act) -> list[str]:
    """Its lines; `tree` becomes the tree after it. Errors: Impossible."""
    names = act.names
    match act.word:
        case "creat":
            tree.make(names[0], "file")
        case "mkdir":
            tree.make(names[0], "dir")
        case "symlink" | "mkfifo" | "mknod":
            tree.make(names[0], "other")
            return [_NODES[act.word].format(names[0])]
        case "link":
            tree.put(names[1], tree.need(names[0], *ANY_FILE))
        case "unlink":
            tree.need(names[0], *ANY_FILE)
            tree.at[names[0]] = None
        case "rmdir":
            tree.empty(names[0])
            tree.drop(names[0])
        case "rename" | "replace" | "whiteout" | "exchange":
            return _rename(tree, act.word, *names)
        case "clone" | "copyrange" | "dedupe":
            return _copy(tree, act.word, *names)
        case "subvol create":
            tree.make(names[0], "subvolume")
        case "subvol delete":
            if tree.things[tree.directory(names[0])].kind != "subvolume":
                raise Impossible
            tree.drop(names[0])
        case "snapshot":
            if tree.things[tree.directory(names[0])].kind != "subvolume":
                raise Impossible
            tree.make(names[1], "snapshot")
        case "open" | "tmpfile" | "close" | "remount" | "link held" | "write held":
            return _held(tree, act)
        case _:
            return _content(tree, act.word, names[0])
    return [" ".join([act.word, *names])]


def _rename(tree: Tree, word: str, old: str, new: str) -> list[str]:
    moved = tree.need(old, *ANY_FILE)
    if word in ("rename", "whiteout"):
        tree.absent(new)
    elif tree.need(new, *ANY_FILE) == moved:
        raise Impossible  # two names of one file: nothing happens
    if word == "exchange":
        tree.exchange(old, new)
        return [f"rename {old} {new} exchange"]
    if word == "replace" and new in DIRECTORIES:
        tree.empty(new)
        tree.drop(new)
    tree.move(old, new)
    if word == "whiteout":
        tree.make(old, "other")
        return [f"rename {old} {new} whiteout"]
    return [f"rename {old} {new}"]


def _copy(tree: Tree, word: str, source: str, target: str) -> list[str]:
    one, other = tree.things[tree.need(source)], tree.things[tree.need(target)]
    if one is other or not one.filled:
        raise Impossible
    other.filled = True
    if word == "clone":
        return [f"clone {source} {target}"]
    copied = f"copyrange {source} {target} 0 8K 0"
    # Bytes are shared only where they are equal.
    return [copied, f"dedupe {source} {target} 0 8K 0"] if word == "dedupe" else [copied]


def _held(tree: Tree, act: Act) -> list[str]:
    if (tree.held is None) != (act.word in ("open", "tmpfile", "remount")):
        raise Impossible
    match act.word:
        case "open":
            tree.held, tree.unnamed = tree.need(act.names[0]), False
        case "tmpfile":
            tree.directory(act.names[0])
            tree.held, tree.unnamed = len(tree.things), True
            tree.things.append(Thing("file"))
        case "close":
            tree.held, tree.unnamed = None, False
            return [f"close {HELD}"]
        case "link held":
            if not tree.unnamed:
                raise Impossible
            assert tree.held is not None
            tree.put(act.names[0], tree.held)
            tree.unnamed = False
            return [f"link {HELD} {act.names[0]}"]
        case "write held":
            assert tree.held is not None
            tree.things[tree.held].filled = True
            return [f"write {HELD} 0 8K"]
        case _:
            return ["remount"]
    return [f"{act.word} {act.names[0]} {HELD}"]


def _content(tree: Tree, word: str, path: str) -> list[str]:
    thing = tree.things[tree.need(path)]
    needs = dict(_CONTENT)[word]
    if (needs == "filled" and not thing.filled) or (needs == "attribute" and not thing.attribute):
        raise Impossible
    if word.startswith(_FILLS):
        thing.filled = True
    elif word.startswith(_EMPTIES):
        thing.filled = False
    if "xattr" in word:
        thing.attribute = word.startswith("set")
    return [word.format(path)]


# --- what may follow it --------------------------------------------------------------------------


def persists(bounds: str, tree: Tree, act: Act, last: bool) -> list[tuple[str, Tree]]:
    """The lines that may follow, each with the tree as known then; `tree` is the one after the act.
    A file with two names has one for each: btrfs, for one, looks at the directory of the name opened."""
    found: dict[str, Tree] = {}
    for path in reversed(act.names):
        found.update((line, tree) for line in _of_file(bounds, tree, act, path))
    for path in reversed(act.names):
        after = tree.copy()
        try:
            after.need(sibling(path))
        except Impossible:
            continue
        found.setdefault(f"fsync {sibling(path)}", after)
    for path in (*(parent(path) for path in reversed(act.names)), ROOT):
        if path == ROOT or tree.at.get(path) is not None:
            found.setdefault(f"fsync {path}", tree)
    if tree.held is not None:
        found[f"fsync {HELD}"] = tree
    found["sync"] = tree
    if bounds == "full":
        found["syncfs"] = tree
    if not last:
        found[NOTHING] = tree
    return list(found.items())


def _of_file(bounds: str, tree: Tree, act: Act, path: str) -> list[str]:
    thing = tree.at.get(path)
    kind = "" if thing is None else tree.things[thing].kind
    if kind in ("dir", "subvolume"):
        return [f"fsync {path}"]
    if kind != "file":
        return []
    more = [f"fdatasync {path}"] if bounds == "full" else []
    return [f"fsync {path}", *more, *([f"msync {path} 0 4K"] if act.word.startswith("mmapwrite") else [])]


# --- how many, and which one ---------------------------------------------------------------------


class Chosen(msgspec.Struct, frozen=True):
    """A workload: its acts, and after each the line that makes durable."""

    acts: tuple[Act, ...]
    persists: tuple[str, ...]


def count(bounds: str, length: int) -> int:
    """How many there are, those that are the same but for names included: counted by trees, none is made."""
    return sum(_counts(bounds, Tree(), length))


_COUNTED: dict[tuple[object, ...], tuple[int, ...]] = {}


def _counts(bounds: str, tree: Tree, left: int) -> tuple[int, ...]:
    """How many go on from here with each act; trees with the same future are counted once."""
    if not left:
        return (1,)
    key = (bounds, left, tree.key())
    if key not in _COUNTED:
        _COUNTED[key] = tuple(
            sum(sum(_counts(bounds, after, left - 1)) for _, after in _following(bounds, tree, act, left))
            for act in acts(bounds)
        )
    return _COUNTED[key]


def _following(bounds: str, tree: Tree, act: Act, left: int) -> list[tuple[str, Tree]]:
    after = tree.copy()
    try:
        apply(after, act)
    except Impossible:
        return []
    return persists(bounds, after, act, left == 1)


def chosen(bounds: str, length: int, number: int) -> Chosen:
    """The number-th, from 0, in the order of its first act, what follows that, its second act, and so on."""
    tree, done, lines = Tree(), [], []
    for left in range(length, 0, -1):
        act, line, tree, number = _step(bounds, tree, left, number)
        done.append(act)
        lines.append(line)
    assert number == 0
    return Chosen(tuple(done), tuple(lines))


def _step(bounds: str, tree: Tree, left: int, number: int) -> tuple[Act, str, Tree, int]:
    for act, count_of_act in zip(acts(bounds), _counts(bounds, tree, left), strict=True):
        if number >= count_of_act:
            number -= count_of_act
            continue
        for line, after in _following(bounds, tree, act, left):
            below = sum(_counts(bounds, after, left - 1))
            if number < below:
                return act, line, after, number
            number -= below
    raise AssertionError("a number beyond the count")


# --- the same but for names ----------------------------------------------------------------------


def _swapped(path: str, names: bool, directories: bool) -> str:
    above, slash, name = path.rpartition("/")
    if directories:
        above = sibling(above) if above in DIRECTORIES else above
        name = sibling(name) if name in DIRECTORIES else name
    return above + slash + (sibling(name) if names and name in NAMES else name)


def renamed(one: Chosen, names: bool, directories: bool) -> Chosen:
    """The same with foo and bar, or A and B, in each other's place."""

    def swap(path: str) -> str:
        return _swapped(path, names, directories)

    done = []
    for act in one.acts:
        swapped = tuple(map(swap, act.names))
        done.append(Act(act.word, tuple(sorted(swapped)) if act.word == "exchange" else swapped))
    return Chosen(tuple(done), tuple(" ".join(map(swap, line.split(" "))) for line in one.persists))


def place(bounds: str, one: Chosen) -> list[int]:
    """What it is ordered by: the index of each act, and of what follows it."""
    tree, indices = Tree(), []
    for left, act, line in zip(range(len(one.acts), 0, -1), one.acts, one.persists, strict=True):
        following = _following(bounds, tree, act, left)
        lines = [each for each, _ in following]
        indices += [_indices(bounds)[act], lines.index(line)]
        tree = following[indices[-1]][1]
    return indices


@cache
def _indices(bounds: str) -> dict[Act, int]:
    return {act: index for index, act in enumerate(acts(bounds))}


def is_first(bounds: str, one: Chosen) -> bool:
    """Whether no earlier one is the same but for names; told from the workload alone."""
    own = place(bounds, one)
    swaps = ((True, False), (False, True), (True, True))
    return all(own <= place(bounds, renamed(one, *swap)) for swap in swaps)


# --- as ours -------------------------------------------------------------------------------------


def workload(bounds: str, length: int, number: int) -> Workload | None:
    """The number-th, from 0; None when an earlier one is the same but for names."""
    one = chosen(bounds, length, number)
    return named(bounds, length, number, one) if is_first(bounds, one) else None


def named(bounds: str, length: int, number: int, one: Chosen) -> Workload:
    words = [
        _word(line) for act, after in zip(one.acts, one.persists, strict=True) for line in (act.word, after)
    ]
    width = len(str(count(bounds, length)))
    name = "-".join([f"{SHORT[bounds]}{length}", f"{number + 1:0{width}}", *filter(None, words)])
    made = text.parse("\n".join(lines_of(bounds, one)), name)
    return msgspec.structs.replace(made, theme=SHORT[bounds])


def _word(line: str) -> str:
    return "" if line == NOTHING else line.partition(" ")[0]


def lines_of(bounds: str, one: Chosen) -> list[str]:
    """Its text, with the setup that it needs."""
    tree, run = Tree(), []
    for left, act, line in zip(range(len(one.acts), 0, -1), one.acts, one.persists, strict=True):
        after = tree.copy()
        run += apply(after, act)
        run += [line] if line != NOTHING else []
        tree = dict(_following(bounds, tree, act, left))[line]
    setup = []
    for thing in tree.start():
        if thing.kind == "dir":
            setup.append(f"mkdir {thing.origin}")
            continue
        setup.append(f"write {thing.origin} 0 8K")
        setup += [f"setxattr {thing.origin} user.a old"] if bounds == "full" else []
    return [
        *(["setup", *(f"  {line}" for line in setup)] if setup else []),
        "run",
        *(f"  {line}" for line in run),
    ]
