"""
A workload made smaller: fewer operations, then simpler ones, as long as it still shows what it shows.

In:       a Workload, and a question about a Workload (one that costs: each is a recording in a guest).
Out:      the smallest Workload for which the answer was yes; what was taken away, as it goes.
Not here: the question (harness/findings/minimize.py), which operations go (ddmin.py).

First, what the witness says is left out at once: what had not begun when the power failed, and what has
nothing to do with the path in question. Of a history of hundreds of operations few are left then; ddmin alone
would ask hundreds of times. After ddmin every move of MOVES is tried in turn, each on what the moves before
it left, until none helps. A move never makes a workload longer, so it ends. The same workload and answers
give the same result.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from workloads.ddmin import ddmin
from workloads.text import WORDS, BadWorkload, Kind, format_operation, parse
from workloads.text import format as format_workload
from workloads.workload import Operation, Workload

BLOCK = 4096
# Each part of it that is not written is more than 32 KiB, up to which ext4 writes zeros rather than making an
# extent more (fs/ext4/extents.c ext4_ext_convert_to_initialized(), s_extent_max_zeroout_kb).
RESERVED = 256 << 10
DIRECTORIES = ("A", "B", "C", "D", "E", "F")
FILES = ("foo", "bar", "baz", "qux", "quux", "corge")

Item = tuple[str, Operation]  # of a block, "setup" or "run"
Still = Callable[[Workload], bool]
Tell = Callable[[Workload, str], None]
PATHS = (Kind.ANYWHERE, Kind.BELOW_ROOT, Kind.FILE, Kind.ANYTHING, Kind.DESCRIPTOR)


class Seen(msgspec.Struct, frozen=True):
    """Where the smallest so far showed it. begun: how many operations of run had begun when the power failed,
    -1 where that is not known. path: what it is about, "" where it is about no path."""

    begun: int = -1
    path: str = ""


class Shrinker:
    """smallest: so far. seen: of the last yes. Whatever `still` raises ends it early, with what it has."""

    def __init__(self, workload: Workload, still: Still, tell: Tell, seen: Callable[[], Seen] = Seen) -> None:
        self.smallest = workload
        self._still = still
        self._tell = tell
        self._seen = seen
        self._known = {text_of(workload): True}

    def run(self) -> Workload:
        before = None
        while before != text_of(self.smallest):
            before = text_of(self.smallest)
            while self._less_at_once():
                pass
            self._fewer_operations()
            for name, move in MOVES:
                self._simpler(name, move)
        return self.smallest

    def _less_at_once(self) -> bool:
        """Whether one of the leaps helped."""
        items = items_of(self.smallest)
        return any(
            len(left) < len(items) and self._try(left, name) for name, left in leaps(items, self._seen())
        )

    def _fewer_operations(self) -> None:
        ddmin(items_of(self.smallest), lambda items: self._try(items, "fewer operations"))

    def _simpler(self, name: str, move: "Move") -> None:
        """Every candidate once; after one that helps, those that come after it, made anew."""
        at = 0
        while at < len(candidates := list(move(items_of(self.smallest)))):
            if not self._try(candidates[at], name):
                at += 1

    def _try(self, items: Sequence[Item], name: str) -> bool:
        candidate = workload_of(items, self.smallest)
        if candidate is None:
            return False
        key = text_of(candidate)
        if key == text_of(self.smallest):
            return False
        if key not in self._known:
            self._known[key] = self._still(candidate)
            if self._known[key]:
                self.smallest = candidate
                self._tell(candidate, name)
        return self._known[key]


def items_of(workload: Workload) -> list[Item]:
    return [("setup", operation) for operation in workload.setup] + [
        ("run", operation) for operation in workload.run
    ]


def workload_of(items: Sequence[Item], like: Workload) -> Workload | None:
    """None when no workload can be so: nothing is run, a descriptor is used that nobody opened."""
    setup = tuple(operation for block, operation in items if block == "setup")
    run = tuple(operation for block, operation in items if block == "run")
    made = msgspec.structs.replace(like, setup=setup, run=run)
    try:
        parsed = parse(format_workload(made), like.name, like.theme)
    except BadWorkload:
        return None
    return msgspec.structs.replace(parsed, comment=like.comment)


def text_of(workload: Workload) -> str:
    """What it does, without its header: equal for equal ones."""
    return format_workload(msgspec.structs.replace(workload, comment=()))


def operation_count(workload: Workload) -> int:
    return len(workload.setup) + len(workload.run)


# --- leaps: what the witness says is of no account ------------------------------------------------

EVERYWHERE = ("sync", "syncfs", "remount", "umount", "wait")


def leaps(items: Sequence[Item], seen: Seen) -> Iterator[tuple[str, list[Item]]]:
    """The boldest first. Where threads run, no order of the text says what had begun."""
    if any(operation.parallel for _, operation in items):
        return
    begun = list(items)
    if seen.begun >= 0:
        setup = [item for item in items if item[0] == "setup"]
        run = [item for item in items if item[0] == "run"]
        begun = [*setup, *run[: seen.begun]]
    if seen.path not in ("", "."):
        near = related(begun, seen.path)
        last = [item for item in begun[-1:] if item not in near]
        yield "what the path is about", [*near, *last]
        yield (
            "what the path is about, and syncs",
            [item for item in begun if item in near or item[1].word in EVERYWHERE or item in last],
        )
    yield "nothing after the power failure", begun


def related(items: Sequence[Item], path: str) -> list[Item]:
    """Operations on the path, on whatever had it or was had by it at another name, on the directories above
    them, and on descriptors of them."""
    names, before = {path}, set[str]()
    while names != before:
        before = set(names)
        for _, operation in items:
            own = {getattr(operation, field) for field in path_fields(operation)} - {"", "."}
            if operation.word == "snapshot" and operation.path in ("", "."):
                continue  # of everything
            if own & names or any(_is_above(each, names) and operation.path2 for each in own):
                names |= own
    return [
        item
        for item in items
        if any(
            each in names
            or (_is_above(each, names) and item[1].word in ("mkdir", "subvol", "symlink", "rename"))
            for field in path_fields(item[1])
            if (each := getattr(item[1], field)) not in ("", ".")
        )
    ]


def _is_above(path: str, names: set[str]) -> bool:
    return any(name.startswith(f"{path}/") for name in names)


# --- moves: from items, the candidates that are simpler in one way, the boldest first -------------

Move = Callable[[Sequence[Item]], Iterator[list[Item]]]


def without_descriptors(items: Sequence[Item]) -> Iterator[list[Item]]:
    """A file called by its name in place of a kept descriptor."""
    for _, opened in items:
        if opened.word == "open":
            kept = [item for item in items if item[1] is not opened and not _closes(item[1], opened)]
            yield substituted(kept, {opened.descriptor: opened.path})


def _closes(operation: Operation, opened: Operation) -> bool:
    return operation.word == "close" and operation.path == opened.descriptor


def fewer_directories(items: Sequence[Item]) -> Iterator[list[Item]]:
    """What lay in a directory lies above it."""
    for directory in dict.fromkeys(path.rpartition("/")[0] for path in paths_of(items)):
        if directory:
            above = directory.rpartition("/")[0]
            moved = [item for item in items if (item[1].word, item[1].path) != ("mkdir", directory)]
            yield [(block, _lifted(operation, directory, above)) for block, operation in moved]


def _lifted(operation: Operation, directory: str, above: str) -> Operation:
    def lift(path: str) -> str:
        if path == directory:
            return above or "."
        if path.startswith(directory + "/"):
            return f"{above}/{path[len(directory) + 1 :]}".lstrip("/")
        return path

    return with_paths(operation, lift)


def fewer_names(items: Sequence[Item]) -> Iterator[list[Item]]:
    """One path in place of another that came later."""
    paths = paths_of(items)
    for later in reversed(range(len(paths))):
        for earlier in range(later):
            yield substituted(items, {paths[later]: paths[earlier]})


def plain_names(items: Sequence[Item]) -> Iterator[list[Item]]:
    """A, B ... for directories and foo, bar ... for the rest, in the order in which they come."""
    names: dict[str, str] = {}
    directories = {operation.path for _, operation in items if operation.word in ("mkdir", "subvol")}
    directories |= {path.rpartition("/")[0] for path in paths_of(items)}
    last = {path.rpartition("/")[2] for path in directories}
    # A directory that is moved is one under its new name, too.
    last |= {_name(op.path2) for _, op in items if op.word == "rename" and _name(op.path) in last}
    for path in paths_of(items):
        for name in path.split("/"):
            if name not in names:
                pool = DIRECTORIES if name in last else FILES
                taken = sum(new in pool for new in names.values())
                names[name] = pool[taken] if taken < len(pool) else name
    if len(set(names.values())) == len(names):
        yield [
            (block, with_paths(operation, lambda path: renamed(path, names))) for block, operation in items
        ]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def renamed(path: str, names: dict[str, str]) -> str:
    if path in ("", ".") or path.startswith("@"):
        return path
    return "/".join(names.get(name, name) for name in path.split("/"))


def plain_words(items: Sequence[Item]) -> Iterator[list[Item]]:
    """The plain call of its kind, without flags."""
    for at, (block, operation) in enumerate(items):
        for plain in plainer(operation):
            yield [*items[:at], (block, beside(operation, plain)), *items[at + 1 :]]


def beside(operation: Operation, made: Operation) -> Operation:
    """The second one where the first one stands: in its thread."""
    return msgspec.structs.replace(made, parallel=operation.parallel, thread=operation.thread)


def fewer_threads(items: Sequence[Item]) -> Iterator[list[Item]]:
    """What runs in parallel one after the other, all of a block; then two of its threads as one."""
    for number in dict.fromkeys(operation.parallel for _, operation in items if operation.parallel):
        yield [
            (block, operation if operation.parallel != number else alone(operation))
            for block, operation in items
        ]
        threads = dict.fromkeys(op.thread for _, op in items if op.parallel == number)
        for thread, following in itertools.pairwise(threads):
            yield [
                (block, msgspec.structs.replace(operation, thread=thread))
                if (operation.parallel, operation.thread) == (number, following)
                else (block, operation)
                for block, operation in items
            ]


def alone(operation: Operation) -> Operation:
    return msgspec.structs.replace(operation, parallel=0, thread=0)


def plainer(operation: Operation) -> Iterator[Operation]:
    """Simpler operations that may do as well."""
    word, path = operation.word, operation.path
    if word in ("mknod", "mkfifo", "symlink", "write", "append", "pwrite"):
        yield Operation("creat", path)
    if word in ("append", "pwrite"):
        yield Operation("write", path, offset=operation.offset, length=operation.length)
    if word == "mmapwrite":
        yield Operation("write", path, offset=operation.offset, length=operation.length)
    if word in ("clone", "copyrange", "dedupe") and operation.length:
        yield Operation("write", operation.path2, offset=operation.at, length=operation.length)
    if word == "clone" and operation.length:
        yield Operation("clone", path, operation.path2)
    if word in ("rename", "open") and operation.mode:
        yield msgspec.structs.replace(operation, mode="")
    if word == "fallocate" and operation.mode != "alloc":
        yield msgspec.structs.replace(operation, mode="alloc")
    if word in ("fdatasync", "msync"):
        yield Operation("fsync", path)
    if word == "sync_file_range":
        yield Operation("fdatasync", path)
    if word == "syncfs":
        yield Operation("sync")
    if word in ("setfacl", "chattr", "chown", "utimes"):
        yield Operation("chmod", path, mode="600")
    if word == "setxattr" and (operation.name, operation.value) != ("user.x", "1"):
        yield msgspec.structs.replace(operation, name="user.x")
        yield msgspec.structs.replace(operation, value="1")
    if word == "removexattr" and operation.name != "user.x":
        yield msgspec.structs.replace(operation, name="user.x")


def fewer_extents_written(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Many extents of a file by few calls, for ddmin only leaves out: two of its writes, and between them a
    reservation of the whole, of which each write makes three parts; or two new ones, far apart, behind it.
    What setup writes and what run writes are different things."""
    for block, path in itertools.product(("setup", "run"), paths_of(items)):
        writes = [
            at
            for at, (of_block, op) in enumerate(items)
            if of_block == block and op.word == "write" and op.path == path
        ]
        if len(writes) <= len(("write", "fallocate", "write")):
            continue
        end = max(items[at][1].offset + items[at][1].length for at in writes)
        reserved = Operation("fallocate", path, mode="alloc", length=end)
        for first, second in itertools.pairwise(writes):
            left = [(at, item) for at, item in enumerate(items) if at not in writes or at in (first, second)]
            held = (block, beside(items[first][1], reserved))
            made = [[item, held] if at == first else [item] for at, item in left]
            yield list(itertools.chain.from_iterable(made))
        calls = _reserved_and_written(path, new=path not in paths_of(items[: writes[0]]))
        if len(calls) < len(writes):
            yield [
                each
                for at, item in enumerate(items)
                for each in (
                    [(block, beside(item[1], call)) for call in calls] if at == writes[0] else [item]
                )
                if at == writes[0] or at not in writes
            ]


def _reserved_and_written(path: str, new: bool) -> list[Operation]:
    quarter = RESERVED // 4
    return [
        *([Operation("creat", path)] if new else []),
        Operation("fallocate", path, mode="alloc", length=RESERVED),
        Operation("write", path, offset=quarter, length=BLOCK),
        Operation("write", path, offset=3 * quarter, length=BLOCK),
    ]


def one_xattr_name(items: Sequence[Item]) -> Iterator[list[Item]]:
    """user.x for every name together: an attribute that is set and one that is removed are often the same."""
    if any(operation.name not in ("", "user.x") for _, operation in items):
        yield [
            (block, msgspec.structs.replace(operation, name="user.x") if operation.name else operation)
            for block, operation in items
        ]


def smaller_sizes(items: Sequence[Item]) -> Iterator[list[Item]]:
    """All numbers halved together, so that ranges keep to each other; then one by one."""
    numbers = {number for _, operation in items for _, number in numbers_of(operation)}
    if any(number > BLOCK for number in numbers):
        yield [(block, halved(operation)) for block, operation in items]
    for at, (block, operation) in enumerate(items):
        for field, number in numbers_of(operation):
            for smaller in smaller_numbers(field, number):
                less = msgspec.structs.replace(operation, **{field: smaller})
                yield [*items[:at], (block, less), *items[at + 1 :]]


def numbers_of(operation: Operation) -> list[tuple[str, int]]:
    """Field and value of its bytes."""
    arguments = WORDS[operation.word].arguments
    return [(a.field, getattr(operation, a.field)) for a in arguments if a.kind is Kind.NUMBER]


def halved(operation: Operation) -> Operation:
    """Down to whole blocks; what is a block or less stays."""
    less = {
        field: max(number // 2 // BLOCK * BLOCK, BLOCK)
        for field, number in numbers_of(operation)
        if number > BLOCK
    }
    return msgspec.structs.replace(operation, **less)


def smaller_numbers(field: str, number: int) -> Iterator[int]:
    """Nothing, a block, half: each less than the number. Of a length never nothing."""
    half = number // 2 // BLOCK * BLOCK
    for smaller in dict.fromkeys((0, BLOCK, half, number // BLOCK * BLOCK)):
        if smaller < number and (smaller or field != "length"):
            yield smaller


MOVES: tuple[tuple[str, Move], ...] = (
    ("fewer threads", fewer_threads),
    ("no descriptor", without_descriptors),
    ("fewer directories", fewer_directories),
    ("fewer names", fewer_names),
    ("fewer extents written", fewer_extents_written),
    ("plain words", plain_words),
    ("one attribute name", one_xattr_name),
    ("smaller sizes", smaller_sizes),
    ("plain names", plain_names),
)


# --- paths ---------------------------------------------------------------------------------------


def path_fields(operation: Operation) -> tuple[str, ...]:
    return tuple(a.field for a in WORDS[operation.word].arguments if a.kind in PATHS)


def with_paths(operation: Operation, change: Callable[[str], str]) -> Operation:
    changed = {field: change(getattr(operation, field)) for field in path_fields(operation)}
    return msgspec.structs.replace(operation, **changed)


def paths_of(items: Sequence[Item]) -> list[str]:
    """Every path but the root's, each once, in the order in which they come."""
    found = (getattr(operation, field) for _, operation in items for field in path_fields(operation))
    return list(dict.fromkeys(path for path in found if path not in ("", ".") and path[0] != "@"))


def substituted(items: Sequence[Item], instead: dict[str, str]) -> list[Item]:
    """Paths that are equal to, or lie below, one of them."""

    def change(path: str) -> str:
        for old, new in instead.items():
            if path == old or path.startswith(old + "/"):
                return new + path[len(old) :]
        return path

    return [(block, with_paths(operation, change)) for block, operation in items]


def lines_of(workload: Workload) -> list[str]:
    """For progress: its operations on one line each."""
    return [format_operation(operation) for operation in (*workload.setup, *workload.run)]


def config_lines(workload: Workload) -> tuple[str, ...]:
    """The header's lines that a run goes by, which a smaller workload keeps."""
    return tuple(line for line in workload.comment if re.match(r"config\s*:", line))
