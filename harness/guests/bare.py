"""
Run a program of the host in a guest of a given kernel, with nothing of ours in it.

In:       a kernel, a folder of files, one of them to be run.
Out:      Ran: its exit status and what it said.
Not here: guests that obey our agent (guest.py), what is run (export.py).

The guest is User Mode Linux: the host's programs are its programs, read only, and the folder is copied to
tmpfs. It ends by our hand when it has told the status, since nothing in it is worth an orderly end.
"""

import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from harness.guests.spec import LOOPS_PER_JIFFY
from harness.local.processors import pinned
from harness.local.workspace import Workspace

MEMORY_MIB = 768
TIMEOUT_S = 600.0  # a log of fstests is replayed from its start for each entry
WATCH_S = 1.0
STATUS = "powercut-status"

INIT = f"""#!/bin/sh
mount -t tmpfs tmp /mnt
cp -r {{folder}}/. /mnt/
cd /mnt; {{bind}}
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmp /run; mount -t tmpfs tmp /tmp
ln -sf /proc/self/fd /dev/fd; mkdir -p /dev/shm /dev/pts
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp TMPDIR=/tmp LC_ALL=C DM_DISABLE_UDEV=1
cd /mnt
{{command}} </dev/null 2>&1
echo "{STATUS} $?"
sleep 60
"""


class Ran(msgspec.Struct, frozen=True):
    """status: -1 when the guest ended or hung before it told one. lines: its output."""

    status: int
    lines: tuple[str, ...]


def run_in_guest(
    kernel: Path,
    folder: Path,
    command: str,
    space: Workspace,
    beside: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    disks: Sequence[Path] = (),
    memory_mib: int = MEMORY_MIB,
    options: Sequence[str] = (),
    watch: Callable[[], str] = lambda: "",
) -> Ran:
    """command: for a shell whose working directory has the folder's content. beside: a folder that the guest
    has as /mnt/beside, read only. disks: files of this machine that are /dev/ubda, /dev/ubdb ... options:
    more words for the kernel's command line. watch: asked about once a second, why the
    guest is to be stopped, "" to go on. Errors: OSError."""
    init = space.path / "bare-init"
    bind = f"mkdir beside; mount --bind {shlex.quote(str(beside.resolve()))} beside" if beside else ":"
    init.write_text(INIT.format(folder=folder, command=command, bind=bind))
    init.chmod(0o755)
    started = [
        str(kernel),
        f"mem={memory_mib}M",
        f"lpj={LOOPS_PER_JIFFY}",
        "quiet",
        "seccomp=auto",
        "rootfstype=hostfs",
        "root=/dev/root",
        "rootflags=/",
        "ro",
        f"init={init}",
        *(f"ubd{number}={disk}" for number, disk in enumerate(disks)),
        *options,
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        f"uml_dir={space.path}/",
        "umid=bare",
    ]
    with pinned(started) as words:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=space.path,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(space.path), "HOME": str(space.path)},
        )
        space.register(process.pid)
        try:
            return _listen(process, timeout_s, watch)
        finally:
            _end(process)


def _listen(process: "subprocess.Popen[bytes]", timeout_s: float, watch: Callable[[], str]) -> Ran:
    assert process.stdout is not None
    deadline = time.monotonic() + timeout_s
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            ready = selector.select(min(left, WATCH_S))
            if why := watch():
                return Ran(-1, (*said.decode(errors="replace").splitlines(), why))
            if not ready:
                continue
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            said += chunk
            lines = tuple(said.decode(errors="replace").replace("\r", "").split("\n"))
            for at, line in enumerate(lines[:-1]):
                if line.startswith(STATUS):
                    return Ran(int(line.split()[1]), lines[:at])
            if not chunk:
                return Ran(-1, (*lines, "the guest ended"))
    return Ran(-1, (*said.decode(errors="replace").splitlines(), f"it did not end within {timeout_s:.0f} s"))


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
