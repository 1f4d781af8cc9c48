"""
The cache's size: what lies in it, and what of it goes first.

In:       the user's cache; an age or a size, beyond which things go.
Out:      Thing after Thing, with its size and when it was last used; those that were removed.
Not here: making them (build.py, release.py), locks (cache.py).

Least recently used goes first. What a process uses stays: a kernel as long as the process lives that
asked for it (cache.use), a source or a compiled tree while it is read (cache.locked). So does the copy of a
git tree (trees/): a night uses it until it ends, every other process from when it first reads of it (git.py).
A copy is a repository of its own, without a work tree: the user's repository does not know of it.
"""

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from kernel import cache
from kernel.kernel import BadKernel
from kernel.make import OBJECTS

LIMIT_BYTES = 20 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Thing(msgspec.Struct, frozen=True):
    """
    room:   the folder of the cache it lies in: builds, objects, trees, sources, failed, agents, apt,
            suite.
    size_bytes: on disk; what is linked from a source, or from the user's repository, counts there.
    used_s: when it was last used, seconds since 1970.
    """

    room: str
    path: str
    size_bytes: int
    used_s: float


def limit_bytes() -> int:
    """POWERCUT_CACHE_LIMIT, as 20G; 0 for no limit. Errors: BadKernel."""
    return size_of(os.environ.get("POWERCUT_CACHE_LIMIT") or str(LIMIT_BYTES), "POWERCUT_CACHE_LIMIT")


def size_of(text: str, name: str) -> int:
    """20G, 500M or bytes. Errors: BadKernel."""
    match = re.fullmatch(r"(\d+)([KMGT]?)i?B?", text.strip())
    if not match:
        raise BadKernel(f"{name}: {text!r} is not a size; write a size such as 20G or 500M")
    return int(match[1]) * _UNITS[match[2]]


def things() -> list[Thing]:
    """All in the cache, least recently used first; of things used at once, those first that are made of
    the others."""
    remembered = _Sizes(cache.root() / "sizes.json")
    found = [_thing(room, path, remembered) for room in _ROOMS for path in sorted(_places(room))]
    remembered.write()
    return sorted(found, key=lambda thing: thing.used_s)  # equals stay in the order of _ROOMS


def prune(
    older_than_s: float | None = None, keep_bytes: int | None = None, dry_run: bool = False
) -> tuple[list[Thing], int]:
    """Remove what is older, then what is too much; what went, and the size of what remains.
    keep_bytes: 0 removes all that is not in use; None sets no limit."""
    if not dry_run:
        cache.sweep()
    before = things()
    total_bytes = sum(thing.size_bytes for thing in before)
    gone = []
    for thing in before:
        old = older_than_s is not None and time.time() - thing.used_s > older_than_s
        too_much = keep_bytes is not None and total_bytes > keep_bytes
        if (old or too_much) and _remove(thing, dry_run):
            gone.append(thing)
            total_bytes -= thing.size_bytes
    return gone, total_bytes


def keep_within_limit() -> list[Thing]:
    """After something was made."""
    limit = limit_bytes()
    return prune(keep_bytes=limit)[0] if limit else []


def _remove(thing: Thing, dry_run: bool) -> bool:
    """False when it is in use."""
    path = Path(thing.path)
    with cache.unused(path) as unused:
        if unused and not dry_run:
            if path.is_dir():
                cache.discard(path)
            else:
                path.unlink(missing_ok=True)
        return unused


# --- what there is ---

_ROOMS = ("failed", "builds", "objects", "trees", "sources", "agents", "apt", "suite")


def _places(room: str) -> Iterator[Path]:
    for path in (cache.root() / room).glob("*"):
        partial = path.name.endswith(cache.PARTIAL)
        if not partial and path.suffix not in cache.MARKS and path.name != "lock":
            yield path


def _thing(room: str, path: Path, sizes: "_Sizes") -> Thing:
    status = path.stat()
    size = sizes.of(path, status.st_ino) if path.is_dir() else status.st_blocks * 512
    return Thing(room, str(path), size, status.st_mtime)


class _Sizes:
    """Sizes of directories, kept from one time to the next: they never change once they are in place, and a
    source has 90,000 files. The lists of apt and the copies of git trees do change, and have few files."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._before: dict[str, tuple[int, int]] = {}
        self._now: dict[str, tuple[int, int]] = {}
        with suppress(OSError, msgspec.DecodeError):
            self._before = msgspec.json.decode(file.read_bytes(), type=dict[str, tuple[int, int]])

    def of(self, path: Path, inode: int) -> int:
        if path.parent.name in ("apt", "trees"):
            return _size_bytes(path)
        known = self._before.get(str(path))
        size_bytes = known[1] if known and known[0] == inode else _size_bytes(path)
        self._now[str(path)] = (inode, size_bytes)
        return size_bytes

    def write(self) -> None:
        if self._now != self._before:
            with cache.full_disk_explained():
                beside = self._file.with_name(f"{self._file.name}.{os.getpid()}.{threading.get_ident()}")
                beside.write_bytes(msgspec.json.encode(self._now))
                beside.replace(self._file)


def _size_bytes(path: Path) -> int:
    """On disk. In a compiled tree, a file with other names is the source's; the objects are its own. In a
    copy of a git tree it is the user's."""
    total = 0
    room = path.parent.name
    for directory, _directories, names in os.walk(path):
        own = room not in ("objects", "trees") or OBJECTS in Path(directory).parts
        for name in names:
            status = os.lstat(os.path.join(directory, name))  # noqa: PTH118  a Path costs twice the stat
            if own or status.st_nlink == 1:
                total += status.st_blocks * 512
    return total
