"""
Variants: a workload in other clothes, such as a random workload may show a bug in.

In:       a Workload, a seed, a number.
Out:      the variant of these three; the same on every machine.
Not here: whether it still shows what the workload shows, which a recording says (harness/suite/variants.py).

Each variant takes some of MOVES, at random: other names, a directory around everything, other sizes, other
words for the same, and operations in between on files that the workload does not know. None adds a sync or an
fsync, and none makes the workload shorter. A path of more than LONG_NAME bytes keeps its length, and a
workload with threads keeps what stands in its parallel blocks.
"""

import random
from collections.abc import Callable, Sequence

import msgspec

from workloads.shrinking import Item, items_of, numbers_of, path_fields, paths_of, with_paths, workload_of
from workloads.workload import Operation, Workload

LONG_NAME = 60
SIZE_MAX = 4 << 20  # of a number that is made larger
FACTORS = (2, 3, 4)
MOVE_PERCENT = 60
WORD_PERCENT = 50  # of the operations that another word fits
BYSTANDERS_MAX = 4
CHANGED_PERCENT = 50
TRIES = 20
NAMES = (
    "a",
    "q7",
    "data.db",
    "journal",
    "x-y",
    "report",
    "lock",
    "index.tmp",
    "a-rather-long-name-of-a-file",
)
DIRECTORIES = ("d", "spool", "var", "tmp.d", "a-directory-of-some-length")
BYSTANDERS = ("bystander", "other", "beside")
CONTENT = ("write", "append", "pwrite", "truncate", "fallocate", "mmapwrite", "clone", "copyrange", "dedupe")
OF_NAMES = ("creat", "rename", "link", "unlink")

Move = Callable[[random.Random, list[Item]], list[Item]]


def varied(workload: Workload, seed: int, number: int) -> Workload:
    """Not equal to the workload."""
    dice = random.Random(f"{workload.name} {seed} {number}")
    like = msgspec.structs.replace(
        workload,
        name=f"{workload.name}-varied{seed}-{number:03d}",
        theme="varied",
        comment=(
            f"Varied from {workload.name}.",
            *(line for line in workload.comment if line.startswith("config:")),
        ),
    )
    for _ in range(TRIES):
        items = items_of(workload)
        for move in MOVES:
            if dice.randrange(100) < MOVE_PERCENT:
                items = move(dice, items)
        made = workload_of(items, like)
        if made is not None and (made.setup, made.run) != (workload.setup, workload.run):
            return made
    made = workload_of(below_a_directory(dice, items_of(workload)), like)
    assert made is not None, f"{workload.name}: no variant"
    return made


def other_names(dice: random.Random, items: list[Item]) -> list[Item]:
    """For every name of the workload another; those that are long stay so."""
    names = dict.fromkeys(name for path in paths_of(items) for name in path.split("/"))
    free = [f"{name}{dice.randrange(100)}" for name in dice.sample(NAMES, len(NAMES))]
    instead = {
        name: f"{free[at % len(free)]}{at if at >= len(free) else ''}"
        for at, name in enumerate(names)
        if len(name) <= LONG_NAME
    }

    def change(path: str) -> str:
        if path in ("", ".") or path.startswith("@"):
            return path
        return "/".join(instead.get(name, name) for name in path.split("/"))

    return [(block, with_paths(operation, change)) for block, operation in items]


def below_a_directory(dice: random.Random, items: list[Item]) -> list[Item]:
    """Everything in a new directory that is durable; the root's part is its."""
    if any(operation.word in ("subvol", "snapshot") for _, operation in items):
        return items
    directory = dice.choice(DIRECTORIES)

    def change(path: str) -> str:
        if path == "" or path.startswith("@"):
            return path
        return directory if path == "." else f"{directory}/{path}"

    moved = [(block, with_paths(operation, change)) for block, operation in items]
    return [("setup", Operation("mkdir", directory)), *moved]


def other_sizes(dice: random.Random, items: list[Item]) -> list[Item]:
    """All offsets and lengths of content the same number of times as large."""
    numbers = [number for _, op in items if op.word in CONTENT for _, number in numbers_of(op)]
    factor = dice.choice(FACTORS)
    if not numbers or max(numbers) * factor > SIZE_MAX:
        return items
    return [
        (
            block,
            msgspec.structs.replace(op, **{field: number * factor for field, number in numbers_of(op)})
            if op.word in CONTENT
            else op,
        )
        for block, op in items
    ]


def other_words(dice: random.Random, items: list[Item]) -> list[Item]:
    """Operations that do the same, or as good as."""
    made: list[Item] = []
    for at, (block, operation) in enumerate(items):
        ways = same_by_other_words(items, at) if not operation.parallel else []
        if ways and dice.randrange(100) < WORD_PERCENT:
            made += [(block, each) for each in dice.choice(ways)]
        else:
            made.append((block, operation))
    return made


def same_by_other_words(items: Sequence[Item], at: int) -> list[list[Operation]]:
    operation = items[at][1]
    path, before = operation.path, paths_of(items[:at])
    ways: list[list[Operation]] = []
    match operation.word:
        case "sync":
            ways = [[Operation("syncfs")]]
        case "syncfs":
            ways = [[Operation("sync")]]
        case "fsync" if path[0] != "@":
            kept = f"@v{at}"
            ways = [[Operation("open", path, descriptor=kept), Operation("fsync", kept)]]
        case "creat" if is_only_named(items, path):
            ways = [
                [Operation("symlink", path, target="nowhere")],
                [Operation("mkfifo", path)],
                [Operation("write", path, length=4096)],
            ]
        case "creat" if path not in before:
            ways = [[Operation("open", path, descriptor=f"@v{at}", mode="creat")]]
        case "write" if operation.length % 8192 == 0 and operation.length:
            half = operation.length // 2
            ways = [
                [
                    msgspec.structs.replace(operation, length=half),
                    msgspec.structs.replace(operation, offset=operation.offset + half, length=half),
                ]
            ]
        case "rename" if not operation.mode and operation.path2 not in before and is_file(items, path):
            ways = [[Operation("link", path, operation.path2), Operation("unlink", path)]]
        case _:
            pass
    return ways


def is_file(items: Sequence[Item], path: str) -> bool:
    """Whether the workload makes it, as what can have two names."""
    return any(op.path == path and op.word in ("creat", "write", "append") for _, op in items)


def is_only_named(items: Sequence[Item], path: str) -> bool:
    """Whether nothing is done to the object but giving and taking names."""
    names, before = {path}, set[str]()
    while names != before:
        before = set(names)
        for _, op in items:
            own = {getattr(op, field) for field in path_fields(op)}
            if op.word in ("rename", "link") and own & names:
                names |= own
    return all(
        op.word in OF_NAMES for _, op in items if names & {getattr(op, field) for field in path_fields(op)}
    )


def bystanders(dice: random.Random, items: list[Item]) -> list[Item]:
    """Files that nothing else names: durable before the run, and some of them changed in it. A new name or
    directory in the run would be a part of what the run makes durable, and may show other bugs."""
    made = list(items)
    for number in range(dice.randint(1, BYSTANDERS_MAX)):
        path = f"{dice.choice(BYSTANDERS)}{number}"
        made.insert(0, ("setup", Operation("write", path, length=dice.choice((100, 4096, 20000)))))
        start = next(at for at, (block, _) in enumerate(made) if block == "run")
        spots = [at for at in range(start, len(made)) if not _in_block(made, at)]
        if spots and dice.randrange(100) < CHANGED_PERCENT:
            made.insert(dice.choice(spots), ("run", dice.choice(_changes(path, dice))))
    return made


def _changes(path: str, dice: random.Random) -> list[Operation]:
    return [
        Operation("chmod", path, mode="600"),
        Operation("setxattr", path, name="user.b", value="1"),
        Operation("write", path, length=dice.choice((100, 4096, 20000))),
        Operation("truncate", path, length=50),
        Operation("unlink", path),
    ]


def _in_block(items: Sequence[Item], at: int) -> bool:
    """Whether what is put there stands inside of a parallel block."""
    return at > 0 and items[at][1].parallel != 0 and items[at - 1][1].parallel == items[at][1].parallel


# Operations of the workload first, then what is put around them.
MOVES: tuple[Move, ...] = (other_words, other_sizes, other_names, bystanders, below_a_directory)
