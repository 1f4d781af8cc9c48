"""
The user's cache: things that cost minutes to make, each there as a whole or not at all.

In:       the name of a thing and how to make it.
Out:      directories that only ever appear by rename, under a lock held across processes.
          sources/<package>_<version>/  a release, unpacked
          objects/<id>/                 a compiled tree without series, from which others grow
          builds/<key>/                 a kernel with its provenance
          failed/<key>.log              the compiler's words when a build failed
          apt/<suite>/                  lists of Debian's that the system's apt has not
          agents/<hash>                 the guest's program (harness/guests/agent_binary.py)
          suite/<name>/                 what the long tests make once a machine
          trees/<hash>.git              copies of the trees that nights watch (harness/nightly/trees.py)
          trees/<hash>.shallow.git      revisions of repositories elsewhere (fetching.py)
          The time of a directory is when it was last used.
Not here: what is made (source.py, build.py), what goes when it is too much (prune.py).
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import filelock
import platformdirs

from kernel.kernel import BuildFailed

ROOMS = ("sources", "objects", "builds", "trees", "apt", "suite")  # of directories
PARTIAL = ".partial"  # not yet whole, or no longer wanted
MARKS = (".lock", ".use")  # files beside a place: it is being made, it is in use
_in_use: dict[Path, int] = {}


def root() -> Path:
    """POWERCUT_CACHE, or powercut/ in the user's cache directory."""
    return Path(os.environ.get("POWERCUT_CACHE") or platformdirs.user_cache_dir("powercut")).absolute()


@contextmanager
def locked(place: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the one lock of a place. waiting() is called once when another process has it.

    The lock is the kernel's (flock): it ends with the process that holds it, however that ends.
    Locks are taken in the order build, build without series, objects, source; so none waits in a circle.
    """
    with full_disk_explained():
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(f"{place}.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            waiting()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def use(place: Path) -> None:
    """Nobody removes the place until this process ends. Waits while it is being removed just now."""
    if place not in _in_use:
        with full_disk_explained():
            place.parent.mkdir(parents=True, exist_ok=True)
            opened = os.open(f"{place}.use", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(opened, fcntl.LOCK_SH)
        _in_use[place] = opened


def touch(place: Path) -> None:
    """It was used now."""
    with suppress(OSError):
        os.utime(place)


@contextmanager
def unused(place: Path) -> Iterator[bool]:
    """Whether nobody makes or uses the place; if so, nobody will within the body."""
    with ExitStack() as held:
        opened = os.open(f"{place}.use", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        held.callback(os.close, opened)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.enter_context(filelock.FileLock(f"{place}.lock").acquire(timeout=0))
        except (BlockingIOError, filelock.Timeout):
            yield False
        else:
            yield True


@contextmanager
def appearing(place: Path) -> Iterator[Path]:
    """A directory to fill; it becomes `place` when the body ends well, and is gone when not.

    The caller holds the lock of place: what is there under the same partial name was left by a dead process.
    """
    partial = place.with_name(place.name + PARTIAL)
    with full_disk_explained():
        remove(partial)
        partial.mkdir(parents=True)
        try:
            yield partial
            _put_in_place(partial, place)
        finally:
            remove(partial)


def _put_in_place(partial: Path, place: Path) -> None:
    """A power cut must not leave a name without its bytes, here of all places: so sync, then rename."""
    os.sync()
    if place.exists():
        old = _aside(place)
        partial.rename(place)
        remove(old)
    else:
        partial.rename(place)


def _aside(place: Path) -> Path:
    """Out of the way, under a name that sweep() knows."""
    old = place.with_name(place.name + ".old" + PARTIAL)
    remove(old)
    return place.rename(old)


def discard(place: Path) -> None:
    """It goes as a whole: a process that is killed meanwhile leaves no part of it under its name."""
    remove(_aside(place))


def remove(directory: Path) -> None:
    """Retried, because the last compiler of a killed build may still write its file."""
    for _ in range(3):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
    shutil.rmtree(directory)


def sweep() -> None:
    """Remove what killed processes left half made; what is being made now is locked, and stays."""
    for room in ROOMS:
        for partial in sorted((root() / room).glob("*" + PARTIAL)):
            place = partial.with_name(partial.name.removesuffix(PARTIAL).removesuffix(".old"))
            lock = filelock.FileLock(f"{place}.lock")
            try:
                with lock.acquire(timeout=0):
                    remove(partial)
            except filelock.Timeout:
                continue


def require_space(needed_bytes: int, what: str) -> None:
    """Say before hours are lost, not after, that the disk is too small."""
    with full_disk_explained():
        root().mkdir(parents=True, exist_ok=True)
    free_bytes = shutil.disk_usage(root()).free
    if free_bytes < needed_bytes:
        raise BuildFailed(
            f"{root()}: {what} needs {needed_bytes / 2**30:.1f} GiB, and only "
            f"{free_bytes / 2**30:.1f} GiB are free. Free another "
            f"{(needed_bytes - free_bytes) / 2**30:.1f} GiB, or set POWERCUT_CACHE to a folder on "
            "a larger disk"
        )


@contextmanager
def full_disk_explained() -> Iterator[None]:
    """The world's refusals to write become one sentence that names the directory."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BuildFailed(
                f"{root()}: the disk is full. Free some space, or set POWERCUT_CACHE to a folder on "
                "another disk"
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise BuildFailed(
                f"{error.filename or root()} cannot be written. Set POWERCUT_CACHE to a folder that "
                "you may write"
            ) from error
        raise
