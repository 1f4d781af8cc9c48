"""
The workloads of ACE, CrashMonkey's Automatic Crash Explorer, in a fixed order.

In:       a length from 1 to LENGTH_MAX, a number from 0 to count(length) - 1.
Out:      the workload of that number; None where an earlier number gives the same system calls.
Not here: shards and samples (space.py), what its lines mean (jlang.py), our own bounds (small.py).

ace/ace.py of utsaslab/crashmonkey is the definition. A workload is `length` core operations, each followed by
fsync of a file or directory, by sync, or by nothing, the last one never by nothing. What an operation needs
(a file, a directory, content, an attribute) is put before it, and what is open at the end is closed.

The bounds are those of the published corpus, code/tests/seq1/j-lang-files, which the script of September
2018 wrote: fdatasync is an operation, and truncate has one size. At length 1 that gives the corpus, file by
file: 328, of which 310 differ as texts, since fdatasync and mmapwrite, which are durable by themselves, are
written once for every persistence that is then left out. Of these 294 differ as system calls: remove(3) of a
file is unlink(2). The last published script (2020) has no fdatasync and a second size for truncate, which
makes 328 again, 316 and 300 of them different; and it adds the file A/C/bar and the directory A/C whether
nesting is asked for or not, which makes 435. Length 2 is 241,720, in either bounds without A/C.

At length 3 ace.py takes only operations that share something with an earlier one, leaves out three times
write, and makes durable only what the operations name: 7,526,274. What it compares are Python sets, and the
set of an operation's one parameter is that of its letters: `creat foo` shares the letter f with `creat foo`
and nothing with `link foo bar`, and two writes of different files share the word append. It is kept so.
"""

import itertools
from collections.abc import Iterator
from functools import cache

import msgspec

from workloads import jlang
from workloads.workload import Workload

LENGTH_MAX = 3
RELATED_LENGTH_MAX = 2  # up to here also siblings and parents of what is named are made durable

FILES, SECOND_FILES = ("foo", "A/foo"), ("bar", "A/bar")
DIRECTORY, SECOND_DIRECTORY, ROOT = "A", "B", "test"
FALLOCATE = (
    "FALLOC_FL_ZERO_RANGE",
    "FALLOC_FL_ZERO_RANGE|FALLOC_FL_KEEP_SIZE",
    "FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE",
    "FALLOC_FL_KEEP_SIZE",
    "0",
)
WRITES = ("append", "overlap_unaligned_start", "overlap_extend")
PAGE_WRITES = ("append", "overlap_start")
APPENDED_BYTES = 32768

SIBLINGS = {"foo": "bar", "bar": "foo", "A/foo": "A/bar", "A/bar": "A/foo", "A": "B", "B": "A"}
PARENTS = {"foo": ROOT, "bar": ROOT, "A": ROOT, "B": ROOT, "A/foo": "A", "A/bar": "A"}

# Python 2, which wrote the corpus, went through its dictionary of open files in this order.
CLOSED_IN_ORDER = ("A/foo", "foo", "bar", "A/bar", "A", "B", ROOT)

DURABLE_ITSELF = ("mmapwrite", "fdatasync")
SYNC, NONE = "sync", "none"


class Act(msgspec.Struct, frozen=True):
    """A core operation with its parameters. options: what ace.py gives beside the names."""

    word: str
    names: tuple[str, ...]
    options: tuple[str, ...] = ()


def _acts() -> Iterator[Act]:
    every = FILES + SECOND_FILES
    pairs = [pair for pair in itertools.product(every, SECOND_FILES) if pair[0] != pair[1]]
    yield from (Act("creat", (name,)) for name in FILES)
    yield Act("mkdir", (DIRECTORY,))
    for name, mode, where in itertools.product(FILES, FALLOCATE, WRITES):
        yield Act("falloc", (name,), (mode, where))
    yield from (Act("write", (name,), (where,)) for name in FILES for where in WRITES)
    yield from (Act("dwrite", (name,), (where,)) for name in FILES for where in PAGE_WRITES)
    yield from (Act("mmapwrite", (name,), (where,)) for name in FILES for where in PAGE_WRITES)
    yield from (Act("link", pair) for pair in pairs)
    yield from (Act(word, (name,)) for word in ("unlink", "remove") for name in every)
    yield from (Act("rename", pair) for pair in [*pairs, (DIRECTORY, SECOND_DIRECTORY)])
    yield from (Act(word, (name,)) for word in ("fsetxattr", "removexattr") for name in FILES)
    yield from (Act("truncate", (name,), ("unaligned",)) for name in FILES)
    yield from (Act("fdatasync", (name,)) for name in FILES)


ACTS = tuple(_acts())
_INDEX = {act: index for index, act in enumerate(ACTS)}


# --- how many, and which one ---------------------------------------------------------------------


def persisted(acts: tuple[Act, ...], length: int) -> tuple[str, ...]:
    """What may be fsynced: each name used, with its sibling and its parent where the length allows it."""
    names: dict[str, None] = {}
    for name in (name for act in acts for name in act.names):
        names[name] = None
        if length <= RELATED_LENGTH_MAX:
            names[SIBLINGS[name]] = None
            names[PARENTS[name]] = None
    return tuple(names)


def choices(acts: tuple[Act, ...]) -> tuple[tuple[str, ...], ...]:
    """For each act what may follow it: fsync of a name, sync, or nothing."""
    last = (*persisted(acts, len(acts)), SYNC)
    return (*((*last, NONE) for _ in acts[1:]), last)


def _letters(act: Act) -> frozenset[str]:
    """What ace.py compares of it: its parameters, or the letters of the only one."""
    return frozenset(act.names + act.options) if len(act.names + act.options) > 1 else frozenset(act.names[0])


def _shares(act: Act, used: frozenset[str]) -> bool:
    alone = len(act.names + act.options) == 1
    first = act.names[0][0] if alone else act.names[0]
    both = {DIRECTORY, SECOND_DIRECTORY}
    return bool(_letters(act) & used) or first in both or used == both


class _Prefix(msgspec.Struct, frozen=True):
    """What of the acts so far decides how many workloads begin with them."""

    left: int
    length: int
    names: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    only_write: bool = True

    def then(self, act: Act) -> "_Prefix | None":
        """None: ace.py makes no such workload."""
        if self.length == 3 and self.left < 3 and not _shares(act, self.used):
            return None
        only_write = self.only_write and act.word == "write"
        if self.length == 3 and self.left == 1 and only_write:
            return None
        return _Prefix(
            self.left - 1,
            self.length,
            self.names | frozenset(persisted((act,), self.length)),
            self.used | _letters(act) if self.length == 3 else frozenset(),
            only_write,
        )


@cache
def _beginning(prefix: _Prefix) -> int:
    if not prefix.left:
        made_durable = len(prefix.names) + 1
        return made_durable * int((made_durable + 1) ** (prefix.length - 1))
    following = (prefix.then(act) for act in ACTS)
    return sum(_beginning(one) for one in following if one is not None)


def count(length: int) -> int:
    """How many there are, equal ones included: by arithmetic, none is made."""
    return _beginning(_Prefix(length, length))


class Chosen(msgspec.Struct, frozen=True):
    """A workload as ACE thinks of it. persists: what follows each act."""

    acts: tuple[Act, ...]
    persists: tuple[str, ...]


def chosen(length: int, number: int) -> Chosen:
    """The number-th, from 0, by the acts in their order and then by what is made durable."""
    assert 0 <= number < count(length)
    prefix, acts = _Prefix(length, length), []
    while prefix.left:
        for act in ACTS:
            following = prefix.then(act)
            if following is None:
                continue
            below = _beginning(following)
            if number < below:
                prefix = following
                acts.append(act)
                break
            number -= below
    persists = []
    for choice in reversed(choices(tuple(acts))):
        number, index = divmod(number, len(choice))
        persists.append(choice[index])
    return Chosen(tuple(acts), tuple(reversed(persists)))


# --- its lines -----------------------------------------------------------------------------------


class _State:
    """What ace.py remembers while it writes a workload. It goes by names and knows no inodes."""

    def __init__(self) -> None:
        self.files: dict[str, bool] = {}  # those that exist; whether open
        self.directories = {ROOT: False}
        self.filled: set[str] = set()
        self.sizes: dict[str, int] = {}

    def copy(self) -> "_State":
        other = _State()
        other.files, other.directories = dict(self.files), dict(self.directories)
        other.filled, other.sizes = set(self.filled), dict(self.sizes)
        return other

    # --- what an operation needs

    def parents(self, names: tuple[str, ...]) -> list[str]:
        lines = []
        for name in names:
            parent = PARENTS[name] if name != ROOT else ROOT
            if parent not in self.directories:
                self.directories[parent] = False
                lines.append(f"mkdir {parent} 0777")
        return lines

    def opened(self, name: str) -> list[str]:
        """It is there and open."""
        lines = []
        if name in (DIRECTORY, SECOND_DIRECTORY, ROOT):
            if name not in self.directories:
                lines.append(f"mkdir {name} 0777")
            elif self.directories[name]:
                return []
            self.directories[name] = True
            return [*lines, f"opendir {name} 0777"]
        if self.files.get(name):
            return []
        self.files[name] = True
        return [f"open {_short(name)} O_RDWR|O_CREAT 0777"]

    def closed(self, name: str) -> list[str]:
        for kept in (self.files, self.directories):
            if kept.get(name):
                kept[name] = False
                return [f"close {_short(name)}"]
        return []

    def content(self, name: str) -> list[str]:
        if name in self.filled:
            return []
        return [self.range("write", name, "append")]

    def gone(self, name: str) -> list[str]:
        """For mkdir: neither the directory nor what ACE believes to be in it."""
        if name not in self.directories:
            return []
        lines = []
        for inside in (name + "/foo", name + "/bar"):
            if inside in self.files:
                lines += [*self.closed(inside), f"unlink {_short(inside)}"]
                del self.files[inside]
        del self.directories[name]
        return [*lines, f"rmdir {name}"]

    # --- the operations

    def act(self, act: Act) -> list[str]:
        name = act.names[0]
        if act.word == "mkdir":
            lines = self.gone(name)
            self.directories[name] = False
            return [*lines, f"mkdir {name} 0777"]
        lines = self.parents(act.names)
        match act.word:
            case "creat":
                if name in self.files:
                    lines.append(f"unlink {_short(name)}")
                self.files[name] = True
                return [*lines, f"open {_short(name)} O_RDWR|O_CREAT 0777"]
            case "falloc":
                lines += self.opened(name) + self.content(name)
                mode, where = act.options
                return [*lines, self.range(f"falloc {mode}", name, where)]
            case "write" | "dwrite" | "mmapwrite":
                lines += self.opened(name)
                # ace.py looks for "append" in the wrong place where the operation is durable by itself.
                if act.options != ("append",) or act.word in DURABLE_ITSELF:
                    lines += self.content(name)
                if act.word == "dwrite":
                    self.files[name] = False
                return [*lines, self.range(act.word, name, act.options[0])]
            case "link":
                lines += self.opened(name)
                if act.names[1] in self.files:
                    lines += [*self.closed(act.names[1]), f"unlink {_short(act.names[1])}"]
                self.files[act.names[1]] = False
            case "rename":
                lines += self.opened(name) + self.closed(name) + self.closed_file(act.names[1])
                kept = self.files if name in self.files else self.directories
                del kept[name]
                kept[act.names[1]] = False
            case "unlink" | "remove":
                lines += self.opened(name) + self.closed(name)
                del self.files[name]
            case "removexattr":
                lines += [*self.opened(name), f"fsetxattr {_short(name)}"]
            case "truncate":
                lines += self.opened(name) + self.content(name)
                return [*lines, f"truncate {_short(name)} 2500"]
            case _:
                lines += self.opened(name)
        return [*lines, " ".join([act.word, *map(_short, act.names)])]

    def closed_file(self, name: str) -> list[str]:
        return self.closed(name) if name in self.files else []

    def range(self, word: str, name: str, where: str) -> str:
        """The line of a write or falloc, whose mode stands between the name and the range."""
        word, _, mode = word.partition(" ")
        size = self.sizes.get(name, 0)
        match where:
            case "append":
                offset, length = size, APPENDED_BYTES
                self.sizes[name] = size + APPENDED_BYTES
                self.filled.add(name)
            case "overlap_unaligned_start":
                offset, length = 0, 5000
            case "overlap_start":
                offset, length = 0, 8192
            case _:
                offset, length = size - 2000, 5000
                if word == "falloc":  # for a write ace.py does not count what it adds
                    self.sizes[name] = size + 3000
        return " ".join([word, _short(name), *([mode] if mode else []), f"{offset} {length}"])

    def persist(self, what: str) -> list[str]:
        if what == NONE:
            return []
        if what == SYNC:
            return ["sync"]
        lines = self.parents((what,)) if what in PARENTS else []
        return [*lines, *self.opened(what), f"fsync {_short(what)}"]

    def end(self) -> list[str]:
        is_open = {name for kept in (self.files, self.directories) for name in kept if kept[name]}
        return [f"close {_short(name)}" for name in CLOSED_IN_ORDER if name in is_open]


def _short(name: str) -> str:
    return name.replace("/", "")


def lines_of(one: Chosen) -> list[str]:
    """Its lines of J-lang, without checkpoints."""
    state, lines = _State(), []
    for act, persist in zip(one.acts, one.persists, strict=True):
        lines += state.act(act)
        lines += state.persist(persist) if act.word not in DURABLE_ITSELF else []
    return lines + state.end()


# --- the same again ------------------------------------------------------------------------------


def is_first(one: Chosen) -> bool:
    """
    Whether no earlier number makes the same system calls. Told from the workload alone, so that no list is
    kept: whatever else makes its lines does so act by act, and each act writes a line that is there.
    """
    for act, persist, choice in zip(one.acts, one.persists, choices(one.acts), strict=True):
        if act.word == "remove" or (act.word in DURABLE_ITSELF and persist != choice[0]):
            return False
    own = _key(one)
    target = lines_of(one)
    return not any(_key(other) < own for other in _makers(_State(), target, 0, (), (), len(one.acts)))


def _key(one: Chosen) -> tuple[list[int], list[int]]:
    places = [choice.index(each) for each, choice in zip(one.persists, choices(one.acts), strict=True)]
    return [_INDEX[act] for act in one.acts], places


def _main(act: Act) -> tuple[str, str]:
    return "open" if act.word == "creat" else act.word, _short(act.names[0])


_BY_LINE: dict[tuple[str, str], list[Act]] = {}
for _act in ACTS:
    if _act.word != "remove":
        _BY_LINE.setdefault(_main(_act), []).append(_act)


def _makers(
    state: _State, target: list[str], at: int, acts: tuple[Act, ...], persists: tuple[str, ...], length: int
) -> Iterator[Chosen]:
    """Every choice that ace.py makes, and that writes the target from line `at` on."""
    if len(acts) == length:
        if state.end() != target[at:]:
            return
        prefix: _Prefix | None = _Prefix(length, length)
        for act in acts:
            prefix = prefix.then(act) if prefix else None
        if prefix is None:
            return
        options = choices(acts)
        whole = tuple(
            each if act.word not in DURABLE_ITSELF else option[0]
            for each, act, option in zip(persists, acts, options, strict=True)
        )
        if all(each in option for each, option in zip(whole, options, strict=True)):
            yield Chosen(acts, whole)
        return
    for end in range(at + 1, len(target) + 1):
        word, name, *_ = *target[end - 1].split(" ", 2), ""
        for act in _BY_LINE.get((word, name), ()):
            after = state.copy()
            if after.act(act) != target[at:end]:
                continue
            for persist, then, place in _persists(act, after, target, end):
                yield from _makers(then, target, place, (*acts, act), (*persists, persist), length)


def _persists(act: Act, state: _State, target: list[str], at: int) -> Iterator[tuple[str, _State, int]]:
    yield NONE, state, at
    if act.word in DURABLE_ITSELF:
        return
    if target[at : at + 1] == ["sync"]:
        yield SYNC, state, at + 1
    for name in CLOSED_IN_ORDER:
        then = state.copy()
        lines = then.persist(name)
        if target[at : at + len(lines)] == lines:
            yield name, then, at + len(lines)


# --- as ours -------------------------------------------------------------------------------------


def workload(length: int, number: int) -> Workload | None:
    """The number-th, from 0; None when an earlier one makes the same system calls."""
    one = chosen(length, number)
    return named(length, number, one) if is_first(one) else None


def named(length: int, number: int, one: Chosen) -> Workload:
    words = itertools.chain(*map(_words, one.acts, one.persists))
    name = "-".join([f"ace{length}", f"{number + 1:0{len(str(count(length)))}}", *words])
    made = jlang.read("\n".join(["# define", *CLOSED_IN_ORDER, "# run", *lines_of(one)]), name)
    return msgspec.structs.replace(made, comment=(), theme="ace")


def _words(act: Act, persist: str) -> list[str]:
    if persist == NONE or act.word in DURABLE_ITSELF:
        return [act.word]
    return [act.word, persist if persist == SYNC else "fsync"]
