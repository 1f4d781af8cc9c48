"""
Histories and trees made by hand, for tests.

In:       the text of a workload, or a Workload.
Out:      the History a perfect recording would give; the Observation of a tree as it was at a time.
Not here: judging (the oracles).
"""

import msgspec

from oracles.case import Case, Prepared, prepare
from oracles.content import runs_of, size_of
from oracles.model.model import SYMLINKS_MAX, Model
from oracles.observation import TREE_SHIFT, Node, Observation, Tree
from oracles.profiles import profile
from oracles.timeline import T
from oracles.verdict import Answer, Tier, Verdict
from workloads.history import History, Step
from workloads.text import parse
from workloads.workload import Operation, Workload

ENTRIES_PER_STEP = 3  # begin mark, one write, end mark
ROOT = {"btrfs": 256, "ext4": 2, "xfs": 128, "f2fs": 3, "nilfs2": 2}
MAKING = ("creat", "mkdir", "mknod", "mkfifo", "symlink", "write", "append", "pwrite", "fill")
FILLED = msgspec.Raw(b'{"size":1048576,"content":[[0,1048576,"z"]]}')  # what `fill` comes to
NO_FILE = msgspec.Raw(b"null")
NOT_FOLLOWING = (
    *("creat", "mkdir", "mknod", "mkfifo", "symlink", "link", "unlink", "rmdir", "rename", "setxattr"),
    *("removexattr", "setfacl", "evict", "subvol", "snapshot", "tmpfile", "close"),
)


def history_of(source: str | Workload, name: str = "btrfs") -> History:
    """Every operation succeeds; ext4 and xfs give freed inode numbers out again."""
    workload = parse(source) if isinstance(source, str) else source
    filesystem = profile(name).filesystem
    numbers = Numbers(ROOT[filesystem], reuse=filesystem != "btrfs")
    setup = [
        Step(
            i,
            operation,
            0,
            inode=numbers.after(operation),
            left_inode=numbers.left(operation),
            file=FILLED if operation.word == "fill" else NO_FILE,
        )
        for i, operation in enumerate(workload.setup)
    ]
    run = [
        Step(
            len(setup) + i,
            operation,
            0,
            begin_entry=i * ENTRIES_PER_STEP,
            end_entry=i * ENTRIES_PER_STEP + 2,
            inode=numbers.after(operation),
            left_inode=numbers.left(operation),
            file=FILLED if operation.word == "fill" else NO_FILE,
        )
        for i, operation in enumerate(workload.run)
    ]
    entry_count = len(run) * ENTRIES_PER_STEP
    return History(workload, name, "test", tuple(setup), tuple(run), entry_count, ROOT[filesystem])


Marks = dict[int, tuple[int, int]]  # operation to the entries of its begin and end marks


def overlapping(
    words: str, marks: Marks, results: dict[int, int] | None = None, name: str = "btrfs", **inodes: int
) -> History:
    """marks, results: by index of the operation. inodes: i5=0 for operation 5."""
    history = history_of(words, name)
    steps = [
        msgspec.structs.replace(
            step,
            begin_entry=marks[step.index][0],
            end_entry=marks[step.index][1],
            result=(results or {}).get(step.index, 0),
            inode=inodes.get(f"i{step.index}", step.inode),
        )
        for step in history.run
    ]
    steps.sort(key=lambda step: step.begin_entry)
    last = max(step.end_entry for step in steps) + 1
    return msgspec.structs.replace(history, run=tuple(steps), entry_count=last, parallel=True)


class Numbers:
    """Which inode number each path has."""

    def __init__(self, root: int, reuse: bool) -> None:
        self.at = {".": root}
        self.targets: dict[str, str] = {}  # of symlinks
        self.next = root + 1
        self.reuse = reuse
        self.free: list[int] = []
        self.trees = 255

    def after(self, operation: Operation) -> int:
        path = operation.path if operation.word in NOT_FOLLOWING else self.followed(operation.path)
        if operation.word == "symlink":
            self.targets[path] = operation.target
        if operation.word in MAKING and path not in self.at:
            self.at[path] = self.new()
        elif operation.word == "subvol":
            self.subvolume(path, operation.mode)
        elif operation.word == "snapshot":
            self.snapshot(path, operation.path2)
        elif operation.word == "tmpfile":
            self.at[operation.descriptor] = self.new()
        elif operation.word == "open":
            if path not in self.at:
                self.at[path] = self.new()
            self.at[operation.descriptor] = self.at[path]
        elif operation.word == "link":
            self.at[operation.path2] = self.at[path]
        elif operation.word in ("unlink", "rmdir", "close"):
            self.drop(path)
        elif operation.word == "rename":
            self.rename(path, operation.path2, operation.mode)
        return self.at.get(operation.descriptor or operation.path2 or path, 0)

    def followed(self, path: str) -> str:
        """Where a symlink at the end of the path leads to, or would if there were something."""
        for _ in range(SYMLINKS_MAX):
            if path not in self.targets:
                break
            above, slash, _ = path.rpartition("/")
            path = above + slash + self.targets[path]
        return path

    def subvolume(self, path: str, deed: str) -> None:
        if deed == "create":
            self.trees += 1
            self.at[path] = self.trees << TREE_SHIFT | ROOT["btrfs"]
        else:
            self.at = {
                each: number for each, number in self.at.items() if not f"{each}/".startswith(f"{path}/")
            }

    def snapshot(self, source: str, path: str) -> None:
        self.trees += 1
        below = "" if source == "." else source + "/"
        copies = {
            f"{path}/{each[len(below) :]}": number
            for each, number in self.at.items()
            if each.startswith(below) and each != "."
        }
        for each, number in {path: ROOT["btrfs"], **copies}.items():
            self.at[each] = self.trees << TREE_SHIFT | number % (1 << TREE_SHIFT)

    def left(self, operation: Operation) -> int:
        """What a rename, done already, left at the old name."""
        return self.at.get(operation.path, 0) if operation.word == "rename" else 0

    def new(self) -> int:
        if self.reuse and self.free:
            return self.free.pop(0)
        self.next += 1
        return self.next - 1

    def drop(self, path: str) -> None:
        number = self.at.pop(path)
        self.targets.pop(path, None)
        if number not in self.at.values():
            self.free.append(number)

    def rename(self, old: str, new: str, mode: str) -> None:
        if self.at.get(new) == self.at[old]:
            return
        moves = {old: new, new: old} if mode == "exchange" else {old: new}
        if mode != "exchange" and new in self.at:
            self.drop(new)
        self.at.update(_moved(self.at, moves))
        self.targets.update(_moved(self.targets, moves))
        if mode == "whiteout":
            self.at[old] = self.new()


def _moved(by_path: dict[str, T], moves: dict[str, str]) -> dict[str, T]:
    """What lies at these paths and below them, taken out and under its new paths."""
    return {
        to + path[len(side) :]: by_path.pop(path)
        for side, to in moves.items()
        for path in list(by_path)
        if path == side or path.startswith(side + "/")
    }


def tree_of(model: Model, time: int, filesystem: str = "btrfs") -> Tree:
    """The tree exactly as it was at `time`."""
    nodes: list[Node] = []
    _collect(model, time, filesystem, model.root, ".", nodes)
    return tuple(sorted(nodes, key=lambda node: (node.path != ".", node.path.encode())))


def _collect(model: Model, time: int, filesystem: str, inode: int, path: str, nodes: list[Node]) -> None:
    object_ = model.inodes[inode]
    names = model.names_at(inode, time) if object_.kind == "dir" else {}
    xattrs = {name: line.at(time) for name, line in model.xattrs[inode].items()}
    nlink, size, blocks = model.nlink[inode].at(time), len(object_.target), 0
    content = model.content[inode].at(time) if object_.kind == "file" else ()
    if object_.kind == "file":
        size = size_of(content)
        blocks = sum(-(-(e - s) // 512) + 7 for s, e in model.allocated[inode].at(time)) // 8 * 8
    if object_.kind == "dir":
        subdirectories = sum(model.kind(child) == "dir" for child in names.values())
        nlink = 1 if filesystem == "btrfs" else 2 + subdirectories
        size = 2 * sum(map(len, names)) if filesystem == "btrfs" else 4096
    nodes.append(
        Node(
            path,
            object_.kind,
            object_.number,
            model.modes[inode].at(time),
            nlink,
            size,
            blocks,
            *model.owners[inode].at(time),
            dtype="" if path == "." else object_.kind,
            xattrs={name: value for name, value in xattrs.items() if value is not None},
            target=object_.target,
            device=object_.device,
            mtime=max(model.mtimes[inode].at(time)) if inode in model.mtimes else -1,
            flags=model.flags[inode].at(time) if inode in model.flags else "",
            content=runs_of(content),
        )
    )
    for name, child in names.items():
        _collect(model, time, filesystem, child, name if path == "." else f"{path}/{name}", nodes)


class Bench:
    """A workload on a profile, to be cut and judged: Bench("run\\n  creat foo")."""

    def __init__(self, source: str | Workload, name: str = "btrfs", tier: Tier = Tier.FS) -> None:
        self.history = history_of(source, name)
        self.prepared: Prepared = prepare(self.history, profile(name), tier)
        assert self.prepared.model is not None, self.prepared.trouble
        self.model: Model = self.prepared.model
        self.filesystem = profile(name).filesystem

    def tree(self, done: int | None = None) -> Tree:
        """After `done` operations of run (all of them)."""
        count = len(self.history.run) if done is None else done
        return tree_of(self.model, self.model.base_time + count, self.filesystem)

    def case(self, tree: Tree | None, begun: int | None = None, flying: bool = False, **seen: object) -> Case:
        """The cut after `begun` operations (all); flying: the last of them has not returned."""
        count = len(self.history.run) if begun is None else begun
        prefix = count * ENTRIES_PER_STEP - (1 if flying else 0)
        return self.prepared.case(prefix, Observation(tree=tree, probe_steps=1, **seen))


def replaced(tree: Tree, path: str, **changes: object) -> Tree:
    """The tree with some fields of one node changed."""
    assert any(node.path == path for node in tree), path
    return tuple(msgspec.structs.replace(node, **changes) if node.path == path else node for node in tree)


def without(tree: Tree, *paths: str) -> Tree:
    """The tree without these nodes and what is below them."""
    return tuple(
        node for node in tree if not any(node.path == p or node.path.startswith(p + "/") for p in paths)
    )


def also(tree: Tree, path: str, like: Node, **changes: object) -> Tree:
    """The tree with one more name, for the node `like` with changes."""
    node = msgspec.structs.replace(like, path=path, **changes)
    return tuple(sorted((*tree, node), key=lambda each: (each.path != ".", each.path.encode())))


def node_at(tree: Tree, path: str) -> Node:
    return next(node for node in tree if node.path == path)


def kinds(verdict: Verdict | None) -> set[str]:
    """The kinds of its violations; empty when it HOLDS."""
    assert verdict is not None
    assert verdict.answer is not Answer.UNKNOWN, verdict.reason
    assert (verdict.answer is Answer.BROKEN) == bool(verdict.violations)
    return {violation.kind for violation in verdict.violations}


def roles(verdict: Verdict | None) -> set[str]:
    assert verdict is not None
    return {violation.role for violation in verdict.violations}
