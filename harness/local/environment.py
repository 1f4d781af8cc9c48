"""
The virtual environment that Powercut runs in: found, or made whole from pyproject.toml.

In:       the checkout's root, and which optional parts of it are wanted too.
Out:      the path of an environment whose stamp says that it has what is required.
Not here: Debian's packages (packages.py), going through the door (door.py).

Made beside its place and renamed, under a lock, so that a killed run leaves nothing half and two starts
make one environment; the stamp is written last. Only the standard library: this runs before there is
anything else.
"""

import collections
import contextlib
import fcntl
import hashlib
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

STAMP = "powercut-stamp"
SHOWN_LINES = 12

Say = Callable[[str], None]
# Fills a folder with an environment that has these requirements; children keep the lock's descriptor.
Maker = Callable[[Path, Sequence[str], int], None]


class NoEnvironment(Exception):
    """It could not be made; the message says what was tried, what was said, and the fix."""


def requirements(root: Path, extras: Sequence[str]) -> list[str]:
    """As pyproject.toml lists them, with those of its optional parts."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    optional = project.get("optional-dependencies", {}) if extras else {}
    return [*project["dependencies"], *(one for extra in extras for one in optional[extra])]


def find(root: Path, needed: Sequence[str]) -> Path | None:
    """An environment that has what is needed, if there is one."""
    places = (_in_checkout(root), _in_cache(root))
    return next((place for place in places if is_usable(place, needed)), None)


def is_usable(place: Path, needed: Sequence[str]) -> bool:
    """Whether its stamp lists what is needed, and its Python is still the one it was made with."""
    try:
        version, base, *listed = (place / STAMP).read_text().splitlines()
    except (OSError, ValueError):
        return False
    python = os.path.realpath(python_of(place))
    # A Debian upgrade exchanges /usr/bin/python3: the same path may then lead to another version.
    same_version = python != os.path.realpath(sys.executable) or version == _version()
    return python == base and os.access(python, os.X_OK) and same_version and set(needed) <= set(listed)


def stamp(place: Path, has: Sequence[str]) -> None:
    lines = [_version(), os.path.realpath(python_of(place)), *has]
    (place / STAMP).write_text("\n".join(lines) + "\n")


def python_of(place: Path) -> Path:
    return place / "bin" / "python"


def can_be_made() -> bool:
    """Debian keeps ensurepip, which venv needs, in a package of its own."""
    importlib.invalidate_caches()
    found = importlib.util.find_spec("ensurepip")
    return found is not None and found.origin is not None  # an empty folder left behind has no origin


def make(root: Path, needed: Sequence[str], say: Say, maker: Maker | None = None) -> Path:
    """Make the environment, or wait for another process that does. Errors: NoEnvironment."""
    place = _in_checkout(root) if os.access(root, os.W_OK) else _in_cache(root)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place.with_name(place.name + ".lock"), say) as lock:
            if not is_usable(place, needed):
                _make_at(root, place, needed, lock, say, maker or _venv_and_pip)
    except OSError as error:
        raise NoEnvironment(
            f"the virtual environment {place} cannot be made: {error}\nFix: free space on that "
            "disk, or set POWERCUT_CACHE=FOLDER if you may not write there."
        ) from error
    return place


def _make_at(root: Path, place: Path, needed: Sequence[str], lock: int, say: Say, maker: Maker) -> None:
    partial = place.with_name(place.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a killed run: we hold the lock
    first = not (place / STAMP).exists()
    why = "only once" if first else "again, for other packages or another Python"
    say(f"making the virtual environment {place} ({why}; about half a minute)")
    try:
        maker(partial, needed, lock)
        _exchange_path(partial, place)
        _lead_to(root, partial)
        stamp(partial, needed)
        os.sync()  # a power cut must not leave the stamp without what it vouches for
        _put_in_place(partial, place, say)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _put_in_place(partial: Path, place: Path, say: Say) -> None:
    if not os.path.lexists(place):
        partial.rename(place)
        return
    ours = (place / STAMP).exists()
    old = place.rename(place.with_name(f"{place.name}.old-{os.getpid()}"))
    partial.rename(place)
    if ours:
        shutil.rmtree(old, ignore_errors=True)
    else:
        say(f"{place} was not made by powercut, so it was renamed to {old}")


def _exchange_path(partial: Path, place: Path) -> None:
    """The scripts in bin/ begin with the path of their Python: make it the one it will have."""
    for script in (partial / "bin").iterdir():
        if script.is_symlink() or not script.is_file():
            continue
        content = script.read_bytes()
        if bytes(partial) in content:
            script.write_bytes(content.replace(bytes(partial), bytes(place)))


def _lead_to(root: Path, partial: Path) -> None:
    """Its Python finds our modules also where nobody went through the door: a worker of a campaign that ssh
    or Slurm starts."""
    for packages in partial.glob("lib/python*/site-packages"):
        (packages / "powercut.pth").write_text(f"{root}\n")


def _in_checkout(root: Path) -> Path:
    return root / ".venv"


def _in_cache(root: Path) -> Path:
    """For a checkout that cannot be written: one for each path. The folder is that of kernel/cache.py."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    cache = Path(os.environ.get("POWERCUT_CACHE") or home / "powercut").absolute()
    return cache / "environments" / hashlib.sha256(bytes(root)).hexdigest()[:12]


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@contextlib.contextmanager
def _locked(path: Path, say: Say) -> Iterator[int]:
    """The lock's descriptor. Opened for reading only, so that another user's file will do."""
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


def _venv_and_pip(place: Path, needed: Sequence[str], lock: int) -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    _run(
        [base, "-I", "-m", "venv", str(place)],
        lock,
        f"{base} -m venv failed",
        "Fix: use a Python with the module venv. On Debian: apt-get install python3-venv, "
        "then /usr/bin/python3 powercut ...",
    )
    _run(
        [str(python_of(place)), "-I", "-m", "pip", "install", "--no-input", "--retries", "2", *needed],
        lock,
        f"pip could not install {', '.join(needed)}",
        "Fix: give access to the package index (behind a proxy: https_proxy=URL); or, "
        "without a network, name\na folder with the wheels: PIP_NO_INDEX=1 "
        "PIP_FIND_LINKS=FOLDER",
    )


def _run(command: list[str], lock: int, failure: str, fix: str) -> None:
    """The child keeps the lock open: when we are killed, nobody begins while it still writes."""
    status, said = watch(command, keep_open=(lock,))
    if status != 0:
        raise NoEnvironment(f"{failure} (status {status}). It said:\n{last_lines(said)}\n{fix}")


def last_lines(said: Sequence[str]) -> str:
    return "\n".join("  " + line for line in said[-SHOWN_LINES:])


def watch(command: Sequence[str], keep_open: Sequence[int] = ()) -> tuple[int, list[str]]:
    """Run quietly: the exit status and the last lines said. On a terminal the newest one shows meanwhile."""
    # PIP_USER: an installation for the user is refused inside an environment.
    surroundings = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PIP_USER")
    }
    surroundings |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "DEBIAN_FRONTEND": "noninteractive"}
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    columns = shutil.get_terminal_size().columns - 1
    said: collections.deque[str] = collections.deque(maxlen=100)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=surroundings,
        pass_fds=keep_open,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.rstrip())
            if clear:
                sys.stderr.write(clear + line.strip()[:columns])
                sys.stderr.flush()
    sys.stderr.write(clear)
    return process.returncode, list(said)
