"""
Who is who in a recovered tree.

In:       a Tree, and the AllowedValues that it is judged by.
Out:      Recovered: names and nodes by the model's ids; one for each way to read reused numbers.
Not here: whether what is there was promised (the oracles).
"""

import itertools
from collections.abc import Iterator

from oracles.allowed import AllowedValues
from oracles.model.model import Slot
from oracles.observation import Node, Tree
from workloads import acl, text
from workloads.workload import MADE_BY_MKFS

XFS_ACL = "trusted.SGI_ACL_"  # and FILE or DEFAULT: fs/xfs/libxfs/xfs_format.h

FOREIGN = -1  # an object that the name never led to
BROKEN_NAME = -2  # a name whose object could not be looked at

# Inode numbers that two objects had leave several readings; more than this many are not all tried.
READINGS_MAX = 16


class Recovered:
    """One reading of a tree.

    entries:  slot to id, FOREIGN or BROKEN_NAME; a slot that is not here was not found.
    nodes:    id to its node (the first, when it has several names). paths: id to all its paths.
    foreign:  nodes whose name or object the model never had.
    """

    def __init__(self) -> None:
        self.entries: dict[Slot, int] = {}
        self.nodes: dict[int, Node] = {}
        self.paths: dict[int, list[str]] = {}
        self.node_at: dict[Slot, Node] = {}
        self.foreign: list[Node] = []

    def names_of(self, inode: int) -> list[Slot]:
        return [slot for slot, found in self.entries.items() if found == inode]

    def path(self, slot: Slot) -> str:
        """Where the slot is in this tree (its directory must have been found)."""
        directory = self.nodes[slot[0]].path
        return slot[1] if directory == "." else f"{directory}/{slot[1]}"


class Readings:
    """readings() of a tree, each made when it is first asked for: mostly the first one explains all. Empty
    where there is no tree."""

    def __init__(self, tree: Tree | None, allowed: AllowedValues) -> None:
        self._coming = readings(tree, allowed) if tree is not None else iter(())
        self._made = list(itertools.islice(self._coming, 1))

    def __bool__(self) -> bool:
        return bool(self._made)

    def __iter__(self) -> Iterator[Recovered]:
        for place in itertools.count():
            if place == len(self._made):
                self._made += itertools.islice(self._coming, 1)
            if place == len(self._made):
                return
            yield self._made[place]


def readings(tree: Tree, allowed: AllowedValues) -> Iterator[Recovered]:
    """Each way to say which object a node is, the likeliest first: usually there is one."""
    candidates = _candidates(tree, allowed)
    unsure = [number for number, ids in candidates.items() if len(ids) > 1]
    choices = itertools.product(*(candidates[number] for number in unsure))
    sure = {number: ids[0] for number, ids in candidates.items() if ids}
    for choice in itertools.islice(choices, READINGS_MAX):
        yield _read(tree, allowed, {**sure, **dict(zip(unsure, choice, strict=True))})


def is_ours(xattr: str) -> bool:
    """Attributes that workloads set: the kernel keeps others of its own. XFS lists an access control list a
    second time, under the name it has on the disk (xfs_xattr_put_listent() in fs/xfs/xfs_xattr.c)."""
    return (xattr.startswith(text.XATTR_SPACES) and not xattr.startswith(XFS_ACL)) or xattr == acl.ACCESS


def split(path: str) -> tuple[str, str]:
    """A path's directory ("." for the root) and name."""
    directory, _, name = path.rpartition("/")
    return directory or ".", name


def is_of_mkfs(path: str, filesystem: str) -> bool:
    """Whether mkfs made it."""
    return MADE_BY_MKFS.get(filesystem) == path


def _candidates(tree: Tree, allowed: AllowedValues) -> dict[int, list[int]]:
    """For each inode number the ids it may be here, latest first: those that all names of it had at
    some time; else those that any name had; else every object of that number and kind."""
    model = allowed.model
    found: dict[int, list[int]] = {}
    numbers: dict[str, int] = {}
    likely: dict[int, set[int]] = {}
    named: dict[int, set[int]] = {}
    for node in tree:
        numbers[node.path] = node.ino
        if node.path == ".":
            found[node.ino] = [model.root]
            continue
        if node.kind == "unknown" or is_of_mkfs(node.path, allowed.filesystem):
            continue
        directory, name = split(node.path)
        had = {
            led.inode
            for parent in found.get(numbers.get(directory, 0), ())
            for led in allowed.index.led_of((parent, name), node.ino, node.kind)
            if led.since <= allowed.now and model.inodes[led.inode].born <= allowed.now
        }
        if node.ino in likely:
            likely[node.ino] &= had
            named[node.ino] |= had
        else:
            likely[node.ino], named[node.ino] = set(had), set(had)
        choice = likely[node.ino] or named[node.ino]
        if not choice:
            found[node.ino] = model.ids(node.ino, node.kind, allowed.now)
        elif len(choice) == 1 and choice == had:
            found[node.ino] = list(choice)
        else:  # ids ascend with time; a damaged tree has one number with several kinds
            latest = sorted(choice, reverse=True)
            found[node.ino] = [id_ for id_ in latest if model.kind(id_) == node.kind]
    return found


def _read(tree: Tree, allowed: AllowedValues, who: dict[int, int]) -> Recovered:
    recovered = Recovered()
    at_path: dict[str, int] = {}
    for node in tree:
        if is_of_mkfs(node.path, allowed.filesystem):
            continue
        inode = who.get(node.ino, FOREIGN)
        if node.path == ".":
            at_path["."] = inode
            recovered.nodes[inode] = node
            recovered.paths[inode] = ["."]
            continue
        directory, name = split(node.path)
        parent = at_path.get(directory, FOREIGN)
        if parent == FOREIGN:
            recovered.foreign.append(node)
            continue
        if node.kind == "unknown":
            inode = BROKEN_NAME
        elif inode == FOREIGN or allowed.model.kind(inode) != node.kind:
            inode = FOREIGN
        slot = (parent, name)
        recovered.node_at[slot] = node
        if inode in (FOREIGN, BROKEN_NAME) or not allowed.has_led_to(slot, inode):
            recovered.foreign.append(node)
        recovered.entries[slot] = inode
        if inode >= 0:
            at_path[node.path] = inode
            recovered.nodes.setdefault(inode, node)
            recovered.paths.setdefault(inode, []).append(node.path)
    return recovered
