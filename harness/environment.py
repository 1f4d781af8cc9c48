"""
The virtual environment that Powercut runs in: found, or made whole from pyproject.toml.

In:       the checkout's root, and whether the tools for developing are wanted too.
Out:      the path of an environment whose stamp says that it has what is required.
Not here: Debian's packages (packages.py), going through the door (door.py).

Made beside its place and renamed, under a lock, so that a killed run leaves nothing half and two starts
make one environment. The stamp is written last. Only the standard library is used, and no more of it
than a start needs: with an environment there, 40 ms are all that the door may cost.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence

STAMP = "powercut-stamp"
PARTIAL = ".partial"
SHOWN_LINES = 12

Maker = Callable[[str, Sequence[str], int], None]


class NoEnvironment(Exception):
    """It could not be made; the message says what was tried, what was said, and the fix."""


def requirements(root: str, with_dev: bool) -> list[str]:
    """As pyproject.toml lists them."""
    import tomllib

    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    return [*project["dependencies"], *(project["optional-dependencies"]["dev"] if with_dev else ())]


def find(root: str, needed: Sequence[str]) -> str:
    """An environment that has what is needed, "" when there is none."""
    for place in (_in_checkout(root), _in_cache(root)):
        if is_usable(place, needed):
            return place
    return ""


def is_usable(place: str, needed: Sequence[str]) -> bool:
    """Whether its stamp lists what is needed, and its Python is still the one it was made with."""
    try:
        with open(os.path.join(place, STAMP), encoding="utf-8") as file:
            version, base, *listed = file.read().splitlines()
    except (OSError, ValueError):
        return False
    python = os.path.realpath(python_of(place))
    # A Debian upgrade exchanges /usr/bin/python3: the same path may then lead to another version.
    same_base = python == base and os.access(python, os.X_OK)
    ours = base == os.path.realpath(sys.executable)
    return same_base and (not ours or version == _version()) and set(needed) <= set(listed)


def stamp(place: str, has: Sequence[str]) -> None:
    with open(os.path.join(place, STAMP), "w", encoding="utf-8") as file:
        file.write("\n".join([_version(), os.path.realpath(python_of(place)), *has]) + "\n")


def python_of(place: str) -> str:
    return os.path.join(place, "bin", "python")


def can_be_made() -> bool:
    """Debian keeps ensurepip, which venv needs, in a package of its own."""
    import importlib.util

    return importlib.util.find_spec("ensurepip") is not None


def make(root: str, needed: Sequence[str], say: Callable[[str], None], maker: "Maker | None" = None) -> str:
    """Make the environment, or wait for another process that does. Errors: NoEnvironment."""
    place = _in_checkout(root) if os.access(root, os.W_OK) else _in_cache(root)
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with _locked(place + ".lock", say) as lock:
            if not is_usable(place, needed):
                _make_at(place, needed, lock, say, maker or _venv_and_pip)
    except OSError as error:
        raise NoEnvironment(
            f"the virtual environment {place} cannot be made: {error}\n"
            "Fix: a checkout that you may write to, or POWERCUT_CACHE=FOLDER with one that you may."
        ) from error
    return place


def _make_at(place: str, needed: Sequence[str], lock: int, say: Callable[[str], None], maker: Maker) -> None:
    import shutil

    partial = place + PARTIAL
    shutil.rmtree(partial, ignore_errors=True)  # of a killed run: we hold the lock
    say(f"making the virtual environment {place} (once, about a minute)")
    try:
        maker(partial, needed, lock)
        _exchange_path(partial, place)
        stamp(partial, needed)
        os.sync()
        _put_in_place(partial, place, say)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _put_in_place(partial: str, place: str, say: Callable[[str], None]) -> None:
    import shutil

    if not os.path.lexists(place):
        os.rename(partial, place)
        return
    old = f"{place}.old-{os.getpid()}"
    ours = os.path.exists(os.path.join(place, STAMP))
    os.rename(place, old)
    os.rename(partial, place)
    if ours:
        shutil.rmtree(old, ignore_errors=True)
    else:
        say(f"{place} was not made by powercut; it is now {old}")


def _exchange_path(partial: str, place: str) -> None:
    """The scripts in bin/ begin with the path of their Python: make it the path it will have."""
    for entry in os.scandir(os.path.join(partial, "bin")):
        if entry.is_symlink() or not entry.is_file():
            continue
        with open(entry.path, "r+b") as script:
            content = script.read()
            if partial.encode() in content:
                script.seek(0)
                script.write(content.replace(partial.encode(), place.encode()))
                script.truncate()


def _in_checkout(root: str) -> str:
    return os.path.join(root, ".venv")


def _in_cache(root: str) -> str:
    """For a checkout that cannot be written: one for each path. The folder is that of kernel/cache.py."""
    import hashlib

    named = os.environ.get("POWERCUT_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cache = os.path.abspath(named or os.path.join(home, "powercut"))
    return os.path.join(cache, "environments", hashlib.sha256(root.encode()).hexdigest()[:12])


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@contextlib.contextmanager
def _locked(path: str, say: Callable[[str], None]) -> Iterator[int]:
    """The lock's descriptor. Opened for reading only, so that another user's file will do."""
    import fcntl

    lock = os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting: another powercut is making the virtual environment")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


# --- the real maker ---


def _venv_and_pip(place: str, needed: Sequence[str], lock: int) -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    _run([base, "-I", "-m", "venv", place], lock, f"{base} -m venv failed", _venv_fix(base))
    _run(
        [python_of(place), "-I", "-m", "pip", "install", "--no-input", "--retries", "2", *needed],
        lock,
        f"pip could not install {', '.join(needed)}",
        "Fix: a connection to the package index (behind a proxy, set https_proxy); or, without one, "
        "the wheels in a folder: PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER.",
    )


def _venv_fix(base: str) -> str:
    return (
        f"Fix: a complete Python; on Debian: apt-get install python3-venv, and /usr/bin/python3 (not {base})."
    )


def _run(command: list[str], lock: int, failure: str, fix: str) -> None:
    """The child keeps the lock open, so that when we are killed, nobody begins while it still writes."""
    status, said = watch(command, keep_open=(lock,))
    if status != 0:
        lines = "\n".join("  " + line for line in said[-SHOWN_LINES:])
        raise NoEnvironment(f"{failure} (status {status}). It said:\n{lines}\n{fix}")


def watch(command: Sequence[str], keep_open: Sequence[int] = ()) -> tuple[int, list[str]]:
    """Run quietly: its exit status and its last lines. On a terminal the newest line is shown in place."""
    import collections
    import shutil
    import subprocess

    # A --user install is refused inside an environment.
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PIP_USER")}
    shown = sys.stderr.isatty()
    width = shutil.get_terminal_size().columns - 1
    said: collections.deque[str] = collections.deque(maxlen=100)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=inherited | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "DEBIAN_FRONTEND": "noninteractive"},
        pass_fds=keep_open,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.rstrip())
            if shown:
                sys.stderr.write("\r\x1b[K" + line.strip()[:width])
                sys.stderr.flush()
    if shown:
        sys.stderr.write("\r\x1b[K")
    return process.returncode, list(said)
