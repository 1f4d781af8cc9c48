"""
The orders in which operations that overlapped may have had their effects.

In:       a History whose run has parallel blocks.
Out:      a Model for each order that its marks, its results and the tree at its end allow.
Not here: which of them explains a state (judge.py), what an operation does (model.py).

An operation has its effect at one moment between its begin mark and its end mark: every call that may stand
in a block changes what it changes under the locks of the objects it is about, and the words that do not are
refused (workloads/threads.py). So the effects come in some order in which whatever had returned before
another operation began comes before it. Orders in which a call that succeeded would have failed, or one that
found no name (ENOENT) or one too many (EEXIST) would not have, are none; nor are those that end in another
tree than the one that was walked, mounted, after the last operation.

Only the looking up of a path is earlier than the effect: of a file that is opened or called by its name, of
the directories above a name. In between others may rename. So it may be as of any moment since the operation
began (Builder.looked_up); orders that differ in that alone are told apart.

At a cut, what has not begun has no effect, so the effects there are those of a first part of the order, with
all that has returned and nothing that has not begun. Windows take the longest such part: what is in flight at
its end may have happened or not, as the one operation in flight of a sequential history may. A persist that
is in flight promises nothing. A state is BROKEN when it is so by every order; for what one of them explains,
the filesystem has done nothing wrong. Since the true order is among them, no state is called BROKEN that a
sequential history of the same effects would not call so.
"""

import errno
from collections.abc import Callable, Iterator

import msgspec

from oracles.content import Piece, first_difference, size_of
from oracles.model.builder import Builder
from oracles.model.model import Disagreement, Mixture, Model
from oracles.model.steps import do
from oracles.observation import Node, Tree
from oracles.profiles import Profile
from oracles.recovered import is_of_mkfs, is_ours
from workloads.history import History, Step
from workloads.text import format_operation as words
from workloads.threads import WITHOUT_EFFECT

# What makes things durable goes before what it overlaps where it can: then it promises least.
PERSISTS = ("fsync", "fdatasync", "msync", "sync", "syncfs")


class Orders:
    """The models of a history's orders, each made when it is first asked for."""

    def __init__(self, history: History, profile: Profile) -> None:
        self._coming = _models(history, profile)
        self._made: list[Model] = []

    def get(self, number: int) -> Model | None:
        """The order of that number, from 0; None behind the last. Errors: Disagreement when there is none at
        all, or none can tell what happened."""
        while len(self._made) <= number:
            model = next(self._coming, None)
            if model is None:
                return None
            self._made.append(model)
        return self._made[number]

    @property
    def made_count(self) -> int:
        return len(self._made)


def _models(history: History, profile: Profile) -> Iterator[Model]:
    builder = Builder(history)
    for step in history.setup:
        do(builder, step)
    tree = msgspec.json.decode(history.live, type=Tree | None)
    wrong = _Nearest()
    any_found = False
    for model in _orders(builder, list(history.run), wrong):
        difference = difference_of(model, tree, profile) if tree is not None else ""
        if not difference:
            any_found = True
            yield model
        else:
            wrong.note(
                len(history.run) + 1, f"the recorded tree at the end differs from the model: {difference}"
            )
    if not any_found:
        raise Disagreement(f"no order of the parallel operations explains their results: {wrong.reason}")


class _Nearest:
    """Why the order that went furthest is none."""

    def __init__(self) -> None:
        self.reason = "none was tried"
        self._placed = -1

    def note(self, placed: int, reason: str) -> None:
        if placed > self._placed:
            self._placed, self.reason = placed, reason


def _orders(builder: Builder, left: list[Step], wrong: _Nearest) -> Iterator[Model]:
    """Every order of the steps that are left; `builder` is used up."""
    while left:
        choices = [(step, looked_up) for step in _next(left) for looked_up in _lookups(builder, step)]
        if len(choices) > 1:
            break
        if not _do(builder, *choices[0], wrong):
            return
        left = [step for step in left if step is not choices[0][0]]
    else:
        yield builder.model
        return
    for step, looked_up in choices:
        branch = builder.fork()
        if _do(branch, step, looked_up, wrong):
            yield from _orders(branch, [other for other in left if other is not step], wrong)


def _next(left: list[Step]) -> list[Step]:
    """Those before which nothing that is left had returned."""
    first_end = min(step.end_entry for step in left)
    free = [step for step in left if step.begin_entry < first_end]
    idle = [step for step in free if step.operation.word in WITHOUT_EFFECT]
    if idle:
        return idle[:1]
    return sorted(free, key=lambda step: (step.operation.word not in PERSISTS, step.begin_entry))


def _do(builder: Builder, step: Step, looked_up: int | None, wrong: _Nearest) -> bool:
    """Whether it can have come next, with the result that it had."""
    builder.looked_up = looked_up
    try:
        if step.operation.parallel and step.result < 0 and (why := _needless(builder, step)):
            raise Disagreement(why)
        do(builder, step)
    except Mixture:
        raise
    except Disagreement as error:
        wrong.note(builder.time, str(error))
        return False
    finally:
        builder.looked_up = None
    return True


# --- when a path was looked up


def _lookups(builder: Builder, step: Step) -> list[int | None]:
    """Times that lead a path of it somewhere else, the latest first: None for now. Of a call that failed,
    which did nothing, one at which it may have."""
    operation, model = step.operation, builder.model
    paths = [path for path in (operation.path, operation.path2) if path not in ("", ".") and path[0] != "@"]
    if not operation.parallel or not paths:
        return [None]
    placed = [(time, model.steps[time - 1]) for time in range(model.base_time + 1, builder.time + 1)]
    since = max(
        (time for time, other in placed if other.end_entry <= step.begin_entry), default=model.base_time
    )
    found: dict[tuple[object, ...], int | None] = {_leads(builder, step, paths, None): None}
    for time in range(builder.time, since - 1, -1):
        found.setdefault(_leads(builder, step, paths, time), time)
    times = list(found.values())
    if step.result < 0:
        return [time for time in times if not _needless(builder, step, time)][:1] or times[:1]
    return times


def _leads(builder: Builder, step: Step, paths: list[str], time: int | None) -> tuple[object, ...]:
    """The directories and objects that the paths lead to, as of then."""
    builder.looked_up, builder.step = time, step
    try:
        slots = [_or_none(lambda path=path: builder.parent(path)) for path in paths]  # type: ignore[misc]
        return tuple((slot, builder.seen(slot) if slot else None) for slot in slots)
    finally:
        builder.looked_up = None


def _or_none(ask: Callable[[], tuple[int, str]]) -> tuple[int, str] | None:
    try:
        return ask()
    except Disagreement:
        return None


# --- results


NEW_NAME = {"link": "path2", "rename": "path2", "symlink": "path", "creat": "path", "mkdir": "path"}
NEW_NAME |= {"mknod": "path", "mkfifo": "path"}


def _needless(builder: Builder, step: Step, looked_up: int | None = None) -> str:
    """Why it had no reason to fail as it did, or ""."""
    before, builder.looked_up = builder.looked_up, looked_up if looked_up is not None else builder.looked_up
    try:
        return _needless_now(builder, step)
    finally:
        builder.looked_up = before


def _needless_now(builder: Builder, step: Step) -> str:
    operation, new = step.operation, NEW_NAME.get(step.operation.word, "")
    builder.step = step
    slots = {
        field: _or_none(lambda path=path: builder.parent(path))  # type: ignore[misc]
        for field in ("path", "path2")
        if (path := getattr(operation, field)) not in ("", ".") and path[0] != "@"
    }
    if step.result == -errno.EEXIST and new:
        slot = slots[new]
        if slot is None or slot not in builder.now:
            return (
                f"operation {step.index} ({words(operation)}) failed with EEXIST, and in this order "
                "its name did not exist"
            )
    if step.result == -errno.ENOENT and not _leads_to_nothing(builder, step):
        new = "" if operation.mode == "exchange" else new
        missing = [
            field
            for field, slot in slots.items()
            if slot is None or (field != new and (_is_vague(builder, slot) or builder.seen(slot) is None))
        ]
        if not missing:
            return (
                f"operation {step.index} ({words(operation)}) failed with ENOENT, and in this order "
                "its name existed"
            )
    return ""


def _leads_to_nothing(builder: Builder, step: Step) -> bool:
    """A descriptor of it was never opened, or is to be linked and has lost its last name (fs/namei.c
    vfs_link())."""
    operation, kept = step.operation, builder.kept
    return any(
        path not in kept or (operation.word == "link" and not builder.model.nlink[kept[path][0]].last)
        for path in (operation.path, operation.path2)
        if path.startswith("@")
    )


def _is_vague(builder: Builder, slot: tuple[int, str]) -> bool:
    """It may have been removed since it was looked up, or be a symlink that leads nowhere."""
    inode = builder.now.get(slot)
    return inode is None or builder.model.kind(inode) == "symlink"


# --- the tree at the end


def begun_count(model: Model, begun: frozenset[int]) -> int:
    """How many operations of its order had begun, up to the first one with an effect that had not."""
    return next(
        (
            at
            for at, index in enumerate(model.order)
            if index not in begun and model.numbered[index].operation.word not in WITHOUT_EFFECT
        ),
        len(model.order),
    )


def difference_of(model: Model, tree: Tree, profile: Profile) -> str:
    """Where the model's last tree is another than this one, for a reader; "" where it is the same."""
    found = {
        node.path: node for node in tree if not is_of_mkfs(node.path.partition("/")[0], profile.filesystem)
    }
    known: dict[str, int] = {}
    _collect(model, model.root, ".", known)
    for path in sorted(found.keys() | known.keys()):
        if path not in known:
            return f"{path} exists"
        if path not in found:
            return f"{path} does not exist"
        if what := _differs(model, known[path], found[path]):
            return f"{path} has a different {what}"
    return ""


def _collect(model: Model, inode: int, path: str, into: dict[str, int]) -> None:
    into[path] = inode
    if model.kind(inode) == "dir":
        for name, child in model.names_at(inode, model.end_time).items():
            _collect(model, child, name if path == "." else f"{path}/{name}", into)


def _differs(model: Model, inode: int, node: Node) -> str:
    """Of what threads may have changed; blocks and times are no question of order."""
    object_ = model.inodes[inode]
    if (object_.number, object_.kind) != (node.ino, node.kind):
        return "inode"
    end, shown = model.end_time, {name: value for name, value in node.xattrs.items() if is_ours(name)}
    known = model.xattrs[inode]
    if shown.keys() - known.keys() or any(
        shown.get(name) not in line.within(end, end) for name, line in known.items()
    ):
        return "attribute"
    if inode != model.root and node.mode not in model.modes[inode].within(end, end):
        return "mode"
    if (node.uid, node.gid) not in model.owners[inode].within(end, end):
        return "owner"
    if object_.kind != "file":
        return ""
    if model.nlink[inode].last != node.nlink:
        return "link count"
    if inode in model.untold:
        return ""  # a write that failed may have done a part of it
    content = model.content[inode].last
    if size_of(content) != node.size:
        return "size"
    pieces = [Piece(start, end, frozenset((source,))) for start, end, source in content]
    return "content" if first_difference(node.content, pieces, node.size) else ""
