"""
A scratch folder in memory that is gone afterwards, however we end.

In:       nothing.
Out:      Workspace with a path on tmpfs; a janitor process removes it, and kills what was
          registered, when we close it or die (even by kill -9: the janitor sees the pipe close).
Not here: results that are kept (store.py).
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "powercut-"
FULL_BYTES = 1 << 20  # less room than this is none: guests write in pieces of this size at most

# Reads until our end of the pipe is closed, then kills what `pids` names, removes what `half` names, and
# last the folder. A number
# may have gone to a stranger meanwhile, so it counts only with its start time: proc(5), /proc/pid/stat,
# field 22, the 20th behind the name.
JANITOR = """
trap '' INT TERM HUP
read -r _
folder=$1
while read -r pid started; do
    read -r stat 2>/dev/null <"/proc/$pid/stat" || continue
    set -- ${stat##*) }
    [ "${20}" = "$started" ] && kill -9 "$pid" 2>/dev/null
done 2>/dev/null <"$folder/pids"
while read -r half; do rm -rf "$half"; done 2>/dev/null <"$folder/half"
rm -rf "$folder"
"""


class Workspace:
    """`path` is the folder, `register` names a process that must not outlive us, `half_written` a path
    that is to be removed with the folder. `below` is a folder of it that guests can have for themselves."""

    def __init__(self, path: Path, whole: Path | None = None) -> None:
        """whole: the folder that the janitor removes, where this one lies in it."""
        self.path = path
        self._whole = whole or path
        self._pids = self._whole / "pids"

    def below(self, name: str) -> "Workspace":
        """Errors: OSError."""
        (self.path / name).mkdir(exist_ok=True)
        return Workspace(self.path / name, self._whole)

    def register(self, pid: int) -> None:
        """A process that has ended already needs no killing."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return
        with self._pids.open("a") as file:
            file.write(f"{pid} {stat.rpartition(') ')[2].split()[19]}\n")

    def half_written(self, path: Path) -> None:
        """When it is whole it has another name."""
        assert "\n" not in str(path)
        with (self._whole / "half").open("a") as file:
            file.write(f"{path.absolute()}\n")

    def file(self, name: str, size_bytes: int) -> Path:
        """A sparse file of zeros; one that is there is emptied, its inode kept."""
        path = self.path / name
        with path.open("r+b" if path.exists() else "wb") as file:
            file.truncate(0)
            file.truncate(size_bytes)
        return path


def memory_folder() -> Path:
    """Where tmpfs is: /dev/shm, or the system's temporary folder where there is none."""
    shm = Path("/dev/shm")
    return shm if os.access(shm, os.W_OK) else Path(tempfile.gettempdir())


def room_bytes(folder: Path) -> int:
    """What can still be written there. Errors: OSError."""
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize


def is_full(folder: Path) -> bool:
    """Whether what writes there, a guest to its disk among them, may have been refused. Errors: OSError."""
    return room_bytes(folder) < FULL_BYTES


@contextlib.contextmanager
def workspace() -> Iterator[Workspace]:
    """Errors: OSError when the folder cannot be made."""
    path = memory_folder() / f"{PREFIX}{secrets.token_hex(8)}"
    janitor = subprocess.Popen(
        ["/bin/sh", "-c", JANITOR, "janitor", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        path.mkdir(mode=0o700)  # after the janitor is there: killed between the two we would leave it
        yield Workspace(path)
    finally:
        assert janitor.stdin is not None
        janitor.stdin.close()
        janitor.wait()
        shutil.rmtree(path, ignore_errors=True)
