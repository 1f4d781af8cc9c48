"""
The part of a tree that a sequence of operations touches, learnt as it is touched.

In:       what operations need: a file here, nothing there.
Out:      the tree after them; the objects that must have been there at the start (Tree.start); Impossible.
Not here: the operations themselves (own.py).

A name is unknown until an operation needs it to lead to something, or to nothing; then the tree that the
setup makes is chosen so. The universe is small: the root, the directories A and B, and two names in each.
"""

ROOT = "."
DIRECTORIES = ("A", "B")
NAMES = ("foo", "bar")


class Impossible(Exception):
    """No tree at the start makes this operation succeed here."""


class Thing:
    """An object. origin: its path in the setup's tree, "" when an operation made it.

    kind: dir, file, subvolume, snapshot, or other (symlink, fifo, node). filled: holds 8 KiB or more.
    attribute: has user.a.
    """

    __slots__ = ("attribute", "filled", "kind", "origin")

    def __init__(self, kind: str, origin: str = "", filled: bool = False, attribute: bool = False) -> None:
        self.kind, self.origin, self.filled, self.attribute = kind, origin, filled, attribute

    def copy(self) -> "Thing":
        return Thing(self.kind, self.origin, self.filled, self.attribute)


class Tree:
    def __init__(self) -> None:
        self.things: list[Thing] = [Thing("dir", ROOT)]
        self.at: dict[str, int | None] = {}  # path to thing, None where nothing is; others are unknown
        self.held: int | None = None  # what the one descriptor leads to
        self.unnamed = False  # and that it never had a name

    def copy(self) -> "Tree":
        other = Tree()
        other.things = [thing.copy() for thing in self.things]
        other.at = dict(self.at)
        other.held, other.unnamed = self.held, self.unnamed
        return other

    def key(self) -> tuple[object, ...]:
        """Equal for trees with the same future."""
        numbers: dict[int, int] = {}
        rows: list[object] = []
        for path in sorted(self.at):
            found = self.at[path]
            if found is None:
                rows.append(path)
            else:
                thing = self.things[found]
                number = numbers.setdefault(found, len(numbers))
                made = bool(thing.origin)
                rows.append((path, number, thing.kind, made, thing.filled, thing.attribute))
        if self.held is not None:
            thing = self.things[self.held]
            rows.append((numbers.get(self.held, -1), thing.filled, thing.attribute, self.unnamed))
        return tuple(rows)

    def start(self) -> list[Thing]:
        """What the setup makes, directories before what is in them."""
        return sorted((thing for thing in self.things[1:] if thing.origin), key=lambda thing: thing.origin)

    # --- looking

    def directory(self, path: str) -> int:
        """The directory there, made by the setup if nobody knows it yet."""
        if path == ROOT:
            return 0
        if path not in self.at:
            self._found(path, Thing("dir", path))
        there = self.at[path]
        if there is None or self.things[there].kind not in ("dir", "subvolume"):
            raise Impossible
        return there

    def _found(self, path: str, thing: Thing) -> int:
        self.at[path] = len(self.things)
        self.things.append(thing)
        return len(self.things) - 1

    def known(self, path: str) -> bool:
        self.directory(parent(path))
        return path in self.at

    def need(self, path: str, *kinds: str) -> int:
        """Something of that kind; a file by the setup where nobody knows what is there."""
        if path in DIRECTORIES:
            return self.directory(path)
        if not self.known(path):
            origin = self.things[self.directory(parent(path))].origin
            assert origin, "what an operation made holds nothing unknown"
            place = path.rpartition("/")[2] if origin == ROOT else f"{origin}/{path.rpartition('/')[2]}"
            self._found(path, Thing("file", place, filled=True, attribute=True))
        there = self.at[path]
        if there is None or self.things[there].kind not in (kinds or ("file",)):
            raise Impossible
        return there

    def absent(self, path: str) -> None:
        if not self.known(path):
            self.at[path] = None
        if self.at[path] is not None:
            raise Impossible

    def names_of(self, thing: int) -> list[str]:
        return [path for path in sorted(self.at) if self.at[path] == thing]

    # --- changing

    def put(self, path: str, thing: int) -> None:
        self.absent(path)
        self.at[path] = thing

    def make(self, path: str, kind: str) -> int:
        self.absent(path)
        made = self._found(path, Thing(kind))
        if kind in ("dir", "subvolume"):
            self.at.update({f"{path}/{name}": None for name in NAMES})
        return made

    def empty(self, path: str) -> None:
        self.directory(path)
        for name in NAMES:
            self.absent(f"{path}/{name}")

    def drop(self, path: str) -> None:
        self.at[path] = None
        for name in NAMES:
            self.at.pop(f"{path}/{name}", None)

    def move(self, old: str, new: str) -> None:
        """A name and all below it; nothing is at `new`."""
        self.at[new], self.at[old] = self.at[old], None
        for name in NAMES:
            if f"{old}/{name}" in self.at:
                self.at[f"{new}/{name}"] = self.at.pop(f"{old}/{name}")

    def exchange(self, one: str, other: str) -> None:
        self.at[one], self.at[other] = self.at[other], self.at[one]
        for name in NAMES:
            paths = f"{one}/{name}", f"{other}/{name}"
            there = [(path, self.at.pop(path)) for path in paths if path in self.at]
            for path, found in there:
                self.at[paths[path == paths[0]]] = found


def parent(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def sibling(path: str) -> str:
    """The other name in the same directory; of a directory the other directory."""
    above, _, name = path.rpartition("/")
    if path in DIRECTORIES:
        return DIRECTORIES[path == DIRECTORIES[0]]
    other = NAMES[name == NAMES[0]]
    return f"{above}/{other}" if above else other
