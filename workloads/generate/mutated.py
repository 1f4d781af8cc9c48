"""
Mutants: a workload changed in one to four places, for a search that keeps what shows something new.

In:       a Workload, others to cross it with, a random.Random, the words that the filesystem has.
Out:      a valid workload that is not equal to the first.
Not here: which workload is changed, and whether the mutant is kept (harness/search/); variants that should
          show the same bug (varied.py).

A mutant is valid when the parser takes it, and keeps the rules of random workloads (drawn.py): no word of
REFUSED, no more orders of its threads than ORDERS, in a block that writes past the page cache one writer at
most. New operations are drawn as those of random workloads are, over a tree that follows the workload up to
that place (followed()), so that most of them succeed. Unlike a variant, a mutant may fsync elsewhere.
"""

import random
from collections.abc import Callable, Sequence

import msgspec

from workloads import text
from workloads.generate import drawn
from workloads.generate.drawn import Thing, Tree
from workloads.shrinking import Item, items_of, path_fields, paths_of, workload_of
from workloads.text import WORDS, BadWorkload, Kind
from workloads.threads import REFUSED as NOT_IN_BLOCKS
from workloads.threads import blocks, order_count
from workloads.workload import Operation, Workload

OPERATIONS_MAX = 80  # of a mutant, unless its parent has more
SEED_MAX = 150
MOVES_MAX = 4
TRIES = 40
REPEATS_MAX = 12
WAIT_MS_MAX = 100
# The device's and the code's own failures are other kinds of experiments; one that is frozen and not thawed
# hangs; growing, relocating and filling take long.
REFUSED = (
    "fault",
    "errortag",
    "stop",
    "crash",
    "freeze",
    "thaw",
    "grow",
    "relocate",
    "trim",
    "fill",
    "umount",
)
OF_BTRFS = ("subvol", "snapshot")
SHARING = ("clone", "dedupe")
SYNCING = ("fsync", "fdatasync", "sync", "syncfs", "msync", "sync_file_range")
# Words with the same arguments, which may stand for each other.
ALIKE = (
    ("creat", "mkdir", "mkfifo", "unlink", "rmdir"),
    ("fsync", "fdatasync", "evict", "defragment"),
    ("link", "rename"),
    ("write", "mmapwrite", "sync_file_range"),
    ("clone", "copyrange", "dedupe"),
    ("sync", "syncfs", "remount"),
    ("append", "truncate"),
)
BOUNDARIES = (0, 1, 512, 1024, 2048, 3488, 4096, 8192, 16384, 32768, 65536, 131072, 262144)

Move = Callable[["Bench", list[Item]], list[Item]]


class Bench(msgspec.Struct, frozen=True):
    """What moves have at hand. words: that may be drawn, with their weights. others: to cross with."""

    dice: random.Random
    words: dict[str, int]
    others: Sequence[Workload]


def words_for(filesystem: str) -> dict[str, int]:
    """Those that are drawn on it, with their weights."""
    missing = {"btrfs": (), "xfs": OF_BTRFS}.get(filesystem, (*OF_BTRFS, *SHARING))
    return {
        word: weight
        for word, (weight, _) in drawn.WORDS.items()
        if word not in missing and word not in REFUSED
    }


def is_seed(workload: Workload, filesystem: str) -> bool:
    """Whether mutants of it can be made for this filesystem."""
    absent = set(drawn.WORDS) - set(words_for(filesystem))
    words = {operation.word for operation in (*workload.setup, *workload.run)} - {"umount"}
    plain = workload.program is None and not workload.config and not workload.faulty
    fits = not words & (absent | set(REFUSED)) and len(workload.run) + len(workload.setup) <= SEED_MAX
    return plain and fits and is_valid(workload)


def fitting(workload: Workload, filesystem: str) -> Workload | None:
    """Without the operations that this filesystem does not have; None where nothing is left to run."""
    absent = set(drawn.WORDS) - set(words_for(filesystem))
    return workload_of([item for item in items_of(workload) if item[1].word not in absent], workload)


def mutated(parent: Workload, bench: Bench, name: str) -> Workload:
    """Not equal to the parent; its header says what it was made from."""
    dice = bench.dice
    largest = max(OPERATIONS_MAX, len(parent.setup) + len(parent.run))
    like = msgspec.structs.replace(
        parent, name=name, theme="search", comment=(f"Mutated from {parent.name}.",)
    )
    for _ in range(TRIES):
        items, done = items_of(parent), []
        for _ in range(dice.randint(1, MOVES_MAX)):
            move = dice.choices(list(MOVES), list(MOVES.values()))[0]
            items = move(bench, items) or items
            done.append(move.__name__.replace("_", " "))
        made = workload_of(items, like)
        if made is None or len(items) > largest or not is_valid(made):
            continue
        if (plain(made.setup), plain(made.run)) != (plain(parent.setup), plain(parent.run)):
            return msgspec.structs.replace(made, comment=(*like.comment, f"By: {', '.join(done)}."))
    made = workload_of([*items_of(parent)[:-1], ("run", Operation("sync")), *items_of(parent)[-1:]], like)
    assert made is not None, f"{parent.name}: no mutant"
    return made


def plain(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Without the lines where they stand."""
    return tuple(msgspec.structs.replace(operation, line=0) for operation in operations)


def is_valid(workload: Workload) -> bool:
    """What the parser does not ask."""
    every = (*workload.setup, *workload.run)
    if any(operation.word in REFUSED for operation in (*workload.setup, *workload.run[:-1])):
        return False
    if sum(operation.length for operation in every if operation.word == "wait") > WAIT_MS_MAX:
        return False
    for block in blocks(workload.run):
        writing = [op for op in block if op.word in drawn.WRITING]
        if len(writing) > 1 and any("direct" in op.mode for op in writing):
            return False
    return order_count(workload.run) <= drawn.ORDERS


# --- the tree that a workload has made up to a place -----------------------------------------------


def followed(items: Sequence[Item], seed: str) -> Tree:
    """Roughly, as drawn.Tree is: an operation that fails there may be taken for done here."""
    tree = Tree(seed)
    for _, operation in items:
        _follow(tree, operation)
    return tree


def _follow(tree: Tree, op: Operation) -> None:
    there = tree.at(op.path) if op.path not in ("", ".") else None
    match op.word:
        case "creat" | "write" | "append" | "pwrite" if there is None:
            tree.put(op.path, there := Thing("file"))
        case "mkdir" if there is None:
            tree.put(op.path, Thing("dir"))
        case "subvol" if op.mode == "create" and there is None:
            tree.put(op.path, Thing("dir", subvolume=True))
        case "snapshot" if tree.at(op.path2) is None:
            tree.put(op.path2, Thing("dir", subvolume=True))
        case "symlink" if there is None:
            tree.put(op.path, Thing("symlink"))
        case "mknod" | "mkfifo" if there is None:
            tree.put(op.path, Thing("other"))
        case "link" if there is not None and there.kind != "dir" and tree.at(op.path2) is None:
            tree.put(op.path2, there)
        case "unlink" if there is not None and there.kind != "dir":
            tree.put(op.path, None)
        case "rmdir" if there is not None and not there.below:
            tree.put(op.path, None)
        case "subvol" if op.mode == "delete":
            tree.put(op.path, None)
        case "rename" if there is not None:
            _rename(tree, op, there)
        case "open":
            if there is None:
                tree.put(op.path, there := Thing("file"))
            tree.kept[op.descriptor] = there
        case "tmpfile":
            tree.kept[op.descriptor] = Thing("file")
        case "close":
            tree.kept.pop(op.path, None)
        case _:
            pass
    if there is not None and there.kind == "file":
        if op.word in ("write", "pwrite", "fallocate"):
            there.size = max(there.size, op.offset + op.length)
        elif op.word == "append":
            there.size += op.length
        elif op.word == "truncate":
            there.size = op.length


def _rename(tree: Tree, op: Operation, moved: Thing) -> None:
    if f"{op.path2}/".startswith(f"{op.path}/") or f"{op.path}/".startswith(f"{op.path2}/"):
        return
    other = tree.at(op.path2)
    if op.mode == "exchange":
        if other is not None:
            tree.put(op.path2, moved)
            tree.put(op.path, other)
        return
    if other is not None and (op.mode or other.below):
        return
    tree.put(op.path, Thing("other") if op.mode == "whiteout" else None)
    tree.put(op.path2, moved)


def drawn_at(bench: Bench, items: Sequence[Item], words: dict[str, int]) -> Operation | None:
    """A new operation for the end of these items; None where the word has no place there."""
    tree = followed(items, f"{bench.dice.random()}")
    tree.kept_count = 1 + max(
        (int(op.descriptor[2:]) for _, op in items if op.descriptor[2:].isdecimal()), default=0
    )
    tree.kept_count += bench.dice.randrange(50)  # the place behind may open the next one
    word = bench.dice.choices(list(words), list(words.values()))[0]
    return operation_of(drawn.WORDS[word][1](tree))


def operation_of(line: str) -> Operation | None:
    """Of a line, whose descriptors are open. None where the parser refuses it."""
    named = {each for each in line.split(" ")[1:] if each.startswith("@")}
    opens = line.startswith(("open ", "tmpfile "))
    opened = [] if opens else [f"  open any-file {each} creat" for each in sorted(named)]
    try:
        return text.parse("\n".join(["run", *opened, f"  {line}"]) + "\n").run[-1]
    except BadWorkload:
        return None


# --- moves -----------------------------------------------------------------------------------------


def _start(items: Sequence[Item]) -> int:
    """Where run begins."""
    return next((at for at, (block, _) in enumerate(items) if block == "run"), len(items))


def _spot(bench: Bench, items: Sequence[Item]) -> tuple[int, str]:
    """A place to put something, and its block: mostly in run."""
    start = _start(items)
    if bench.dice.randrange(100) < 20:
        return bench.dice.randint(0, start), "setup"
    end = len(items) - (items[-1][1].word == "umount")
    return bench.dice.randint(min(start, end), end), "run"


def _put(items: list[Item], at: int, block: str, operations: Sequence[Operation]) -> list[Item]:
    """In a parallel block it stands in the thread of what it comes before, or behind."""
    made = list(operations)
    if block == "run" and 0 < at < len(items) and items[at][1].parallel:
        before, here = items[at - 1][1], items[at][1]
        if before.parallel == here.parallel:
            made = [msgspec.structs.replace(op, parallel=here.parallel, thread=here.thread) for op in made]
    return [*items[:at], *((block, op) for op in made), *items[at:]]


def _one(bench: Bench, items: Sequence[Item]) -> int:
    """Any operation, those of run more often."""
    start = _start(items)
    if start and bench.dice.randrange(100) < 25:
        return bench.dice.randrange(start)
    return bench.dice.randrange(start, len(items)) if start < len(items) else bench.dice.randrange(len(items))


def new_operation(bench: Bench, items: list[Item]) -> list[Item]:
    at, block = _spot(bench, items)
    made = drawn_at(bench, items[:at], bench.words)
    return _put(items, at, block, [made]) if made is not None else items


def new_operations(bench: Bench, items: list[Item]) -> list[Item]:
    """Two to five in a row, each knowing those before it."""
    at, block = _spot(bench, items)
    for _ in range(bench.dice.randint(2, 5)):
        made = drawn_at(bench, items[:at], bench.words)
        if made is not None:
            items, at = _put(items, at, block, [made]), at + 1
    return items


def removed(bench: Bench, items: list[Item]) -> list[Item]:
    at = _one(bench, items)
    return [*items[:at], *items[at + bench.dice.choice((1, 1, 1, 2, 3)) :]]


def moved(bench: Bench, items: list[Item]) -> list[Item]:
    """One operation to another place, often that of its neighbour."""
    at = _one(bench, items)
    block, operation = items[at]
    left = [*items[:at], *items[at + 1 :]]
    if not left:
        return items
    near = bench.dice.randrange(100) < 50
    to = min(max(at + bench.dice.choice((-1, 1)), 0), len(left)) if near else _spot(bench, left)[0]
    block = "setup" if to < _start(left) else "run" if to > _start(left) else block
    alone = msgspec.structs.replace(operation, parallel=0, thread=0)
    return _put(left, to, block, [alone])


def other_path(bench: Bench, items: list[Item]) -> list[Item]:
    """In one operation another path of the workload, or a new one beside it."""
    at = _one(bench, items)
    block, operation = items[at]
    fields = [
        field for field in path_fields(operation) if getattr(operation, field) != "" and field != "descriptor"
    ]
    if not fields:
        return items
    field = bench.dice.choice(fields)
    choices = [*paths_of(items), followed(items[:at], f"{bench.dice.random()}").new()]
    choices += [path.rpartition("/")[0] for path in choices if "/" in path]
    kinds = {a.field: a.kind for a in WORDS[operation.word].arguments}
    if kinds[field] in (Kind.ANYWHERE, Kind.ANYTHING):
        choices.append(".")
    changed = msgspec.structs.replace(operation, **{field: bench.dice.choice(choices)})
    return [*items[:at], (block, changed), *items[at + 1 :]]


def other_number(bench: Bench, items: list[Item]) -> list[Item]:
    """An offset or a length at or beside a boundary, or taken from another operation."""
    numbered_ones = [
        (at, a.field)
        for at, (_, op) in enumerate(items)
        for a in WORDS[op.word].arguments
        if a.kind is Kind.NUMBER
    ]
    if not numbered_ones:
        return items
    at, field = bench.dice.choice(numbered_ones)
    block, operation = items[at]
    there = getattr(operation, field)
    used = [getattr(items[one][1], name) for one, name in numbered_ones]
    beside = bench.dice.choice((0, 0, 0, -1, 1, -512, 512, -4096, 4096))
    wanted = (
        bench.dice.choice((bench.dice.choice(BOUNDARIES), bench.dice.choice(used), there, 2 * there)) + beside
    )
    if "direct" in operation.mode or operation.word in (*SHARING, "dedupe"):
        wanted = wanted // 4096 * 4096
    least = 0 if field in ("offset", "at") or operation.word == "truncate" else 1
    value = min(max(wanted, least), drawn.WIDE_MAX)
    return [*items[:at], (block, msgspec.structs.replace(operation, **{field: value})), *items[at + 1 :]]


def other_flags(bench: Bench, items: list[Item]) -> list[Item]:
    """Another mode or flag, from those that the word has; an attribute's name or value."""
    able = [
        at
        for at, (_, op) in enumerate(items)
        if op.word in ("chmod", "chown", "chattr", "setfacl", "setxattr", "removexattr", "utimes")
        or (op.word != "subvol" and any(a.choices for a in WORDS[op.word].arguments))
    ]
    if not able:
        return items
    at = bench.dice.choice(able)
    block, operation = items[at]
    made: Operation | None
    if choices := [a for a in WORDS[operation.word].arguments if a.choices]:
        argument = choices[-1]
        optional = ("",) if WORDS[operation.word].optional else ()
        mode = bench.dice.choice((*argument.choices, *optional))
        made = msgspec.structs.replace(operation, **{argument.field: mode})
    else:
        line = drawn.WORDS[operation.word][1](followed(items[:at], f"{bench.dice.random()}"))
        other = operation_of(line)
        if other is None:
            return items
        made = msgspec.structs.replace(
            operation, mode=other.mode, name=other.name, value=other.value, length=other.length
        )
    return [*items[:at], (block, made), *items[at + 1 :]]


def other_word(bench: Bench, items: list[Item]) -> list[Item]:
    """A word that takes the same arguments."""
    at = _one(bench, items)
    block, operation = items[at]
    alike = next((words for words in ALIKE if operation.word in words), ())
    choices = [
        word for word in alike if word != operation.word and (word in bench.words or word == "remount")
    ]
    if not choices or (operation.word == "rename" and operation.mode):
        return items
    changed = msgspec.structs.replace(operation, word=bench.dice.choice(choices))
    return [*items[:at], (block, changed), *items[at + 1 :]]


def synced_elsewhere(bench: Bench, items: list[Item]) -> list[Item]:
    """One thing that makes durable goes to another place, or comes to one: of a file or directory that some
    operation names, of the directory above it, of all."""
    start = _start(items)
    there = [at for at, (_, op) in enumerate(items) if op.word in SYNCING and at >= start]
    if there and bench.dice.randrange(100) < 40:
        at = bench.dice.choice(there)
        items = [*items[:at], *items[at + 1 :]]
        if len(items) <= start or bench.dice.randrange(100) < 30:
            return items
    paths = [path for path in paths_of(items) if path]
    paths += [path.rpartition("/")[0] for path in paths if "/" in path]
    at, _ = _spot(bench, items)
    at = max(at, _start(items))
    kind = bench.dice.randrange(100)
    if kind < 12 or not paths:
        made = Operation(bench.dice.choice(("sync", "syncfs")))
    else:
        made = Operation(
            bench.dice.choice(("fsync", "fsync", "fsync", "fdatasync")), bench.dice.choice([*paths, "."])
        )
    return _put(items, at, "run", [made])


def crossed(bench: Bench, items: list[Item]) -> list[Item]:
    """The end of this one's run gives way to a part of another's; both setups stand before it."""
    if not bench.others:
        return items
    other = bench.dice.choice(bench.others)
    theirs = [msgspec.structs.replace(op, line=0) for op in other.run if op.word != "umount"]
    if not theirs:
        return items
    begin = bench.dice.randrange(len(theirs))
    taken = theirs[begin : begin + bench.dice.randint(1, 12)]
    renumbered = [
        msgspec.structs.replace(op, parallel=op.parallel + 1000 if op.parallel else 0) for op in taken
    ]
    start = _start(items)
    cut = bench.dice.randint(start, len(items))
    behind = items[cut:] if bench.dice.randrange(100) < 50 else []
    known = {op for _, op in items[:start]}
    setup = [("setup", op) for op in plain(other.setup) if op not in known and op.word != "umount"]
    return [*items[:start], *setup, *items[start:cut], *(("run", op) for op in renumbered), *behind]


def in_threads(bench: Bench, items: list[Item]) -> list[Item]:
    """Neighbours at the same time; or what was at the same time one after the other."""
    start = _start(items)
    if any(op.parallel for _, op in items) and bench.dice.randrange(100) < 40:
        return [(block, msgspec.structs.replace(op, parallel=0, thread=0)) for block, op in items]
    able = [at for at in range(start, len(items) - 1) if _may_be_beside(items[at][1], items[at + 1][1])]
    if not able:
        return items
    at = bench.dice.choice(able)
    made = [
        (block, msgspec.structs.replace(op, parallel=2000, thread=1 + place))
        for place, (block, op) in enumerate(items[at : at + 2])
    ]
    return [*items[:at], *made, *items[at + 2 :]]


def _may_be_beside(one: Operation, other: Operation) -> bool:
    descriptors = ("open", "tmpfile", "close")
    return not any(
        op.parallel or op.word in NOT_IN_BLOCKS or op.word in descriptors or op.path.startswith("@")
        for op in (one, other)
    )


def durable_before(bench: Bench, items: list[Item]) -> list[Item]:
    """The border between what was durable before and what is recorded, moved by some operations."""
    start = _start(items)
    if start and bench.dice.randrange(2):
        count = bench.dice.randint(1, min(3, start))
        return [("run" if at >= start - count else block, op) for at, (block, op) in enumerate(items)]
    count = bench.dice.randint(1, 3)
    return [
        ("setup" if at < start + count and not op.parallel else block, op)
        for at, (block, op) in enumerate(items)
    ]


def out_of_the_cache(bench: Bench, items: list[Item]) -> list[Item]:
    """An inode is dropped, or everything is mounted anew, at some place of run."""
    at, _ = _spot(bench, items)
    at = max(at, _start(items))
    paths = [path for path in paths_of(items) if path]
    evict = paths and bench.dice.randrange(100) < 75
    made = Operation("evict", bench.dice.choice(paths)) if evict else Operation("remount")
    return _put(items, at, "run", [made])


def repeated(bench: Bench, items: list[Item]) -> list[Item]:
    """An operation many times: on new names, or at offsets one after the other."""
    at = _one(bench, items)
    block, operation = items[at]
    if operation.parallel or operation.word in (*REFUSED, "open", "tmpfile", "close", "remount", "wait"):
        return items
    count = bench.dice.randint(2, REPEATS_MAX)
    numbers = {a.field: a.kind for a in WORDS[operation.word].arguments}
    made = []
    for number in range(1, count):
        if numbers.get("offset") is Kind.NUMBER and operation.length:
            step = number * max(operation.length, 4096) * 2
            made.append(
                msgspec.structs.replace(operation, offset=min(operation.offset + step, drawn.WIDE_MAX))
            )
        elif operation.word in ("link", "rename", "snapshot"):
            made.append(msgspec.structs.replace(operation, path2=f"{operation.path2}{number}"))
        elif operation.word in ("setxattr", "removexattr"):
            made.append(msgspec.structs.replace(operation, name=f"{operation.name}{number}"))
        elif operation.word in ("creat", "mkdir", "symlink", "mknod", "mkfifo"):
            made.append(msgspec.structs.replace(operation, path=f"{operation.path}{number}"))
        else:
            made.append(operation)
    return [*items[: at + 1], *((block, op) for op in made), *items[at + 1 :]]


# How often each is taken, of the sum of all.
MOVES: dict[Move, int] = {
    new_operation: 16,
    new_operations: 10,
    removed: 8,
    moved: 10,
    other_path: 12,
    other_number: 10,
    other_flags: 6,
    other_word: 6,
    synced_elsewhere: 14,
    crossed: 12,
    in_threads: 4,
    durable_before: 5,
    out_of_the_cache: 5,
    repeated: 4,
}
