"""
A guest that is a program of this machine, its devices files on tmpfs: both UML and QEMU.

In:       a Backend, a GuestSpec, a workspace.
Out:      start(): a LocalGuest.
Not here: what a guest is (interface.py), when it counts as started (guest.py), how each kind is run (uml.py,
          qemu.py).
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from harness.guests import qemu, uml
from harness.guests.interface import ANSWER_TIMEOUT_S, LostGuest, answer
from harness.guests.spec import ACCELERATED, PATIENCE, UML, Backend, Channel, GuestSpec
from harness.local.processors import pinned
from harness.local.workspace import Workspace, is_full, room_bytes
from harness.states.disk import copy_sparse

BACKENDS = {
    UML: uml.BACKEND,
    **dict.fromkeys([kind for kinds in ACCELERATED.values() for kind in kinds], qemu.BACKEND),
}
FOLDER = "guest"  # of a workspace
CLOSE_TIMEOUT_S = 30.0
NUDGE_S = 2.0
CONSOLE_LINES = 80

# SIGBUS in the guest's kernel, or in its agent: a page of its memory that the host had no room for. A kernel
# bug may cause it, too (a wild address on the stack segment), so it counts only where room was short.
BUS_ERROR = ("Kernel mode signal 7", "exitcode=0x00000007")


class LocalGuest:
    """A Guest. Use `start`. files: an open descriptor of each device. claim: to be closed with it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        line: Channel,
        spec: GuestSpec,
        folder: Path,
        files: dict[str, int],
        claim: contextlib.ExitStack,
    ) -> None:
        self.pid = process.pid
        self.scratch = folder.parent
        self.kernel = spec.kernel
        self.used_up = False
        self._process = process
        self._folder = folder
        self._claim = claim
        self._files = files  # kept open: each batch of states writes one and reads another
        self._to_guest = line.to_guest
        self._from_guest = line.from_guest
        self._patience = PATIENCE[spec.kind]
        self._nudged = BACKENDS[spec.kind].nudge
        self._memory_mib = spec.given_mib
        self._lines = b""
        self._console = b""
        self._gone = False  # the console closed, and with it the kernel
        self.stage = ""
        self.held: dict[int, bytes] | None = {}
        self.told = b""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._console_fd = process.stdout.fileno()
        # Not by `selectors`, whose bookkeeping costs as much as the wait itself, once for each state.
        self._ready = select.poll()
        self._ready.register(line.from_guest, select.POLLIN)
        self._ready.register(self._console_fd, select.POLLIN)

    def console(self, count: int = CONSOLE_LINES) -> tuple[str, ...]:
        """As Guest's."""
        return tuple(self._console.decode("latin-1").splitlines()[-count:])

    def forget_console(self) -> None:
        """As Guest's."""
        with contextlib.suppress(OSError):  # nothing more waits
            while os.read(self._console_fd, 65536):
                pass
        self._console = b""

    def say(self, command: str) -> None:
        """As Guest's."""
        try:
            os.write(self._to_guest, command.encode() + b"\n")
        except BrokenPipeError:
            self._lost("exit", "it does not accept connections")

    def hear(self, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """As Guest's."""
        timeout_s *= self._patience
        deadline = time.monotonic() + timeout_s
        while True:
            line, newline, rest = self._lines.partition(b"\n")
            if not newline:
                self._pump(deadline, timeout_s)
                continue
            self._lines = rest
            if (words := answer(self, line)) is not None:
                return words

    def ask(self, command: str, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """As Guest's."""
        self.say(command)
        return self.hear(timeout_s)

    # --- devices ---

    def size(self, device: str) -> int:
        """As Guest's."""
        return os.fstat(self._files[device]).st_size

    def read(self, device: str, offset: int, length: int) -> bytes:
        """As Guest's."""
        return os.pread(self._files[device], length, offset)

    def write(self, device: str, offset: int, data: bytes) -> None:
        """As Guest's."""
        done = os.pwrite(self._files[device], data, offset)
        while done < len(data):  # a tmpfs that is full takes a part, and refuses the next
            done += os.pwrite(self._files[device], data[done:], offset + done)

    def load(self, device: str, image: Path) -> None:
        """As Guest's."""
        copy_sparse(image, self._folder / device)

    def empty(self, device: str) -> None:
        """As Guest's."""
        size_bytes = self.size(device)
        os.truncate(self._files[device], 0)
        os.truncate(self._files[device], size_bytes)

    @contextlib.contextmanager
    def as_file(self, device: str) -> Iterator[Path]:
        """As Guest's: the device's own file."""
        yield self._folder / device

    # --- the line ---

    def _pump(self, deadline: float, timeout_s: float) -> None:
        if self._gone:
            self._ended()
            return
        ready = self._ready.poll(1000 * max(0.0, min(NUDGE_S, deadline - time.monotonic())))
        if not ready and time.monotonic() >= deadline:
            self._lost("hang", f"it did not answer within {timeout_s:g} s")
        if not ready and self._nudged:
            self._nudge()
        for descriptor, _ in ready:
            try:
                chunk = os.read(descriptor, 65536)
            except OSError:  # EIO: the other end is gone
                chunk = b""
            if descriptor == self._console_fd:
                self._console = (self._console + chunk)[-65536:]
                if not chunk:
                    self._ready.unregister(descriptor)
                    self._gone = True
                    self._ended()
                    return
            elif chunk:
                self._lines += chunk
            else:  # its end of the line is closed; how it died the console tells
                self._ready.unregister(descriptor)

    def _nudge(self) -> None:
        """UML watches its lines edge-triggered: what came before the tty was open stays unseen until more
        comes. Seen with a command sent at boot; an empty line brings it forward and means nothing."""
        with contextlib.suppress(OSError):
            os.write(self._to_guest, b"\n")

    def _ended(self) -> None:
        """The console closed: the kernel is gone. What it still said on the line counts first."""
        with contextlib.suppress(OSError):
            os.set_blocking(self._from_guest, False)
            self._lines += os.read(self._from_guest, 65536) or b""
        if b"\n" in self._lines:
            return
        self._lost("exit", f"its process ended ({self._process.wait()})")

    def _lost(self, kind: str, detail: str) -> None:
        console = self.console()
        if kind == "hang" and (status := self._process.poll()) is not None:
            kind, detail = "exit", f"its process ended ({status})"
        if any("Kernel panic" in line or "Oops" in line for line in console):
            kind = "panic"
        if any("Out of memory" in line for line in console):
            kind, detail = (
                "exit",
                f"its memory of {self._memory_mib} MiB was too small for this workload; {detail}",
            )
        # Its memory and its disks are files there; that of the memory has no name, and went with it.
        bus_error = any(words in line for line in console for words in BUS_ERROR)
        starved = is_full(self._folder) or (bus_error and room_bytes(self._folder) < self._memory_mib << 20)
        if starved:
            kind, detail = "exit", f"{self._folder.parent} has no space for its memory and disks; {detail}"
        raise LostGuest(kind, console, detail, self.stage, starved)

    def close(self) -> None:
        """As Guest's."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        # Under a KVM that hangs it may be in a call that no signal ends; it goes when that returns.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_TIMEOUT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        for descriptor in (self._to_guest, self._from_guest, *self._files.values()):
            os.close(descriptor)
        self._claim.close()


def start(backend: Backend, spec: GuestSpec, space: Workspace) -> LocalGuest:
    """Its files are made anew, in a folder of the workspace. Errors: OSError."""
    folder = space.path / FOLDER
    folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as undo:
        files: dict[str, int] = {}
        for name, size_bytes in spec.devices():
            _leave_to_the_last_guest(folder / name)
            files[name] = os.open(space.file(f"{FOLDER}/{name}", size_bytes), os.O_RDWR | os.O_CLOEXEC)
            undo.callback(os.close, files[name])
        backend.prepare(spec, folder)
        claim = undo.enter_context(contextlib.ExitStack())
        line = backend.channel()
        guest = LocalGuest(_run(spec, backend, line, folder, claim), line, spec, folder, files, claim)
        undo.pop_all()
        undo.callback(guest.close)
        space.register(guest.pid)
        undo.pop_all()
    return guest


def _leave_to_the_last_guest(device: Path) -> None:
    """A guest that was killed may not be gone yet, and User Mode Linux locks the file of each device
    (arch/um/drivers/ubd_kern.c, os_lock_file()): the next one would start without it. What the file holds
    goes at once. Errors: OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.truncate(device, 0)
        device.unlink()


def _run(
    spec: GuestSpec, backend: Backend, line: Channel, folder: Path, claim: contextlib.ExitStack
) -> subprocess.Popen[bytes]:
    """Errors: OSError."""
    try:
        return subprocess.Popen(
            claim.enter_context(
                pinned(backend.command(spec, folder, line.theirs), spec.processor, spec.cpus)
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=line.theirs,
            start_new_session=True,
            cwd=folder,  # where a core dump goes with it
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "HOME": str(folder)},
        )
    except OSError:
        os.close(line.to_guest)
        os.close(line.from_guest)
        raise
    finally:
        for descriptor in line.theirs:
            os.close(descriptor)
