"""
The workloads that come with Powercut, and the choice among them.

In:       workloads/library/THEME/NAME.workload, and files of the user's own.
Out:      Workloads, in a fixed order: themes and then names, by alphabet.
Not here: the text form (text.py).
"""

import difflib
import fnmatch
import functools
import re
from collections.abc import Sequence
from pathlib import Path

from workloads import text
from workloads.workload import Workload

ROOT = Path(__file__).parent / "library"
SUFFIX = ".workload"

# What `powercut run` does without an argument: something of every theme, in modest time.
DEMONSTRATION = (
    "replace-by-rename",
    "link-into-new-directory",
    "append-fsync-repeated",
    "rename-then-reuse-name",
    "exchange-through-third",
    "rename-directory-new-file",
    "move-out-of-logged-directory",
    "unlink-one-of-two-names",
    "symlink-fsync-parent",
    "truncate-then-fsync",
    "punch-hole-then-fsync",
    "xattrs-over-two-fsyncs",
    "nothing-synced-tree",
)
# And of `run --faults`: a write of the superblock that fails is told by syncfs alone.
FAULTED = (*DEMONSTRATION, "syncfs-makes-all-durable")


class BadSelection(Exception):
    """A workload, file or -k expression that selects nothing; the text lists all that is wrong."""


@functools.cache
def library() -> tuple[Workload, ...]:
    """Every workload of the library."""
    found = (read(path) for path in ROOT.glob(f"*/*{SUFFIX}"))
    workloads = tuple(sorted(found, key=lambda workload: (workload.theme, workload.name)))
    assert len({workload.name for workload in workloads}) == len(workloads), "the same name in two themes"
    return workloads


def names() -> tuple[str, ...]:
    return tuple(workload.name for workload in library())


def load(name: str) -> Workload:
    """The library's workload of that name; BadSelection when there is none."""
    for workload in library():
        if workload.name == name:
            return workload
    raise BadSelection(_unknown(name))


def read(path: Path) -> Workload:
    """Any workload file. Raises OSError, or text.BadWorkload."""
    theme = path.resolve().parent.name if path.resolve().parent.parent == ROOT else ""
    words = text.decode(path.read_bytes(), str(path))
    return text.parse(words, name=path.name.removesuffix(SUFFIX), theme=theme, source=str(path))


def select(wanted: Sequence[str] = (), keyword: str | None = None) -> tuple[Workload, ...]:
    """What the command line asks for, each once, in the order asked.

    wanted:  names, THEME/NAME, globs over either (`rename-*`, `link/*`), or paths of files;
             none means the whole library.
    keyword: -k EXPR: and, or, not and parentheses over pieces of the name, the theme and the
             words used, upper or lower case, as pytest's -k.
    """
    chosen: dict[Workload, None] = {} if wanted else dict.fromkeys(library())
    wrong = []
    for item in wanted:
        found = _in_library(item)
        try:
            if not found and Path(item).is_file():
                found = (read(Path(item)),)
        except OSError as error:
            wrong.append(f"cannot read {item}: {error.strerror}")
            continue
        if not found:
            wrong.append(_unknown(item))
        chosen.update(dict.fromkeys(found))
    if wrong:
        raise BadSelection("\n".join(wrong))
    if keyword is None:
        return tuple(chosen)
    kept = tuple(workload for workload in chosen if matches(keyword, workload))
    if not kept:
        raise BadSelection(f"no workload matches -k {keyword!r}")
    return kept


def _in_library(item: str) -> tuple[Workload, ...]:
    def fits(workload: Workload) -> bool:
        spelled = (workload.name, f"{workload.theme}/{workload.name}")
        return item in spelled or any(fnmatch.fnmatchcase(each, item) for each in spelled)

    return tuple(workload for workload in library() if fits(workload))


def _unknown(item: str) -> str:
    if "/" in item or item.endswith(SUFFIX):
        return f"there is no workload or file {item}"
    near = difflib.get_close_matches(item, names(), n=3, cutoff=0.5)
    near += [name for name in names() if item and item in name and name not in near][:3]
    hint = f". Similar names: {', '.join(near)}" if near else ". powercut list shows all workloads"
    return f"unknown workload {item}{hint}"


# --- the expression of -k ---

_WORD = re.compile(r"\s*(?:(?P<sign>[()])|(?P<name>[\w:+\-./\[\]*]+))")


def matches(keyword: str, workload: Workload) -> bool:
    """Whether -k `keyword` takes this workload; BadSelection when it is no expression."""
    operations = (*workload.setup, *workload.run)
    pieces = {workload.name, workload.theme, *(operation.word for operation in operations)}
    try:
        return _Expression(keyword, frozenset(piece.lower() for piece in pieces)).value()
    except RecursionError:
        raise BadSelection("-k: the expression is nested too deeply") from None


class _Expression:
    """One pass from left to right: `or` binds loosest, then `and`, then `not`.

    Not Python's own parser, to which `fsync-file` would be a subtraction.
    """

    def __init__(self, keyword: str, pieces: frozenset[str]) -> None:
        self.keyword = keyword
        self.pieces = pieces
        self.position = 0

    def value(self) -> bool:
        result = self._or()
        if self._peek():
            raise self._error("unexpected")
        return result

    def _or(self) -> bool:
        result = self._and()
        while self._take("or"):
            result = self._and() or result
        return result

    def _and(self) -> bool:
        result = self._not()
        while self._take("and"):
            result = self._not() and result
        return result

    def _not(self) -> bool:
        if self._take("not"):
            return not self._not()
        if self._take("("):
            result = self._or()
            if not self._take(")"):
                raise self._error("expected )")
            return result
        name = self._peek()
        if name in ("", ")", "and", "or"):
            raise self._error("expected a name")
        self._take(name)
        return any(name.lower() in piece for piece in self.pieces)

    def _peek(self) -> str:
        match = _WORD.match(self.keyword, self.position)
        if match is None:
            if self.keyword[self.position :].strip():
                raise self._error("unexpected")
            return ""
        return match["sign"] or match["name"]

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        match = _WORD.match(self.keyword, self.position)
        assert match is not None
        self.position = match.end()
        return True

    def _error(self, what: str) -> BadSelection:
        rest = self.keyword[self.position :]
        column = self.position + len(rest) - len(rest.lstrip()) + 1
        message = f"-k: {what} at column {column}"
        return BadSelection(f"{message}\n{text.excerpt(self.keyword, column)}")
