"""
A running kernel that obeys us, with our agent as its only process.

In:       a GuestSpec (kernel, agent, kind), a workspace.
Out:      Guest: say() a command, hear() its answers, with deadlines; LostGuest tells how it ended.
Not here: what the commands mean (record.py, recover.py), the agent itself (agent/*.c), how each kind is
          started (uml.py, qemu.py).
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
from harness.guests.spec import (
    INBOX_BYTES,
    MEMORY_MIB,
    OUTBOX_BYTES,
    PATIENCE,
    QEMU_KVM,
    QEMU_TCG,
    UML,
    Backend,
    Channel,
    GuestSpec,
)
from harness.host.workspace import Workspace, is_full

__all__ = [
    "INBOX_BYTES",
    "MEMORY_MIB",
    "OUTBOX_BYTES",
    "Guest",
    "GuestSlot",
    "GuestSpec",
    "GuestTrouble",
    "LostGuest",
    "boot",
]

BACKENDS = {UML: uml.BACKEND, QEMU_TCG: qemu.BACKEND, QEMU_KVM: qemu.BACKEND}
BOOT_TIMEOUT_S = 20.0
ANSWER_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 30.0
NUDGE_S = 2.0
CONSOLE_LINES = 80


class LostGuest(Exception):
    """The guest gave no answer any more.

    kind: "panic" (its kernel said so on the console), "hang" (no answer in time) or "exit".
    stage: the last stage the agent announced, "" when it announced none.
    """

    def __init__(self, kind: str, console: tuple[str, ...], detail: str, stage: str = "") -> None:
        last = console[-1] if console else "(console empty)"
        super().__init__(f"guest lost ({kind}): {detail}; console: {last}")
        self.kind = kind
        self.console = console
        self.stage = stage


class GuestTrouble(Exception):
    """The agent could not do its part; not the filesystem's fault."""


class Guest:
    """A booted guest. Use `boot`."""

    def __init__(
        self, process: subprocess.Popen[bytes], line: Channel, spec: GuestSpec, folder: Path
    ) -> None:
        self.process = process
        self.folder = folder
        self._to_guest = line.to_guest
        self._from_guest = line.from_guest
        self._patience = PATIENCE[spec.kind]
        self._nudged = BACKENDS[spec.kind].nudge
        self._memory_mib = spec.memory_mib
        self._lines = b""
        self._console = b""
        self._gone = False  # the console closed, and with it the kernel
        self.stage = ""
        # Of the recovery of states (recover.py): its disk's blocks, of which all others are zero, None when
        # they are not known, and the last report that came by the line.
        self.held: dict[int, bytes] | None = {}
        self.told = b""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._console_fd = process.stdout.fileno()
        # Not by `selectors`, whose bookkeeping costs as much as the wait itself, once for each state.
        self._ready = select.poll()
        self._ready.register(line.from_guest, select.POLLIN)
        self._ready.register(self._console_fd, select.POLLIN)

    def console(self) -> tuple[str, ...]:
        """The last lines of its console."""
        return tuple(self._console.decode("latin-1").splitlines()[-CONSOLE_LINES:])

    def say(self, command: str) -> None:
        """Errors: LostGuest."""
        try:
            os.write(self._to_guest, command.encode() + b"\n")
        except BrokenPipeError:
            self._lost("exit", "it does not listen")

    def hear(self, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """The next answer, two words and the rest. timeout_s: for UML; other kinds get their own measure
        (spec.py). Errors: LostGuest; GuestTrouble, as the agent said."""
        timeout_s *= self._patience
        deadline = time.monotonic() + timeout_s
        while True:
            line, newline, rest = self._lines.partition(b"\n")
            if not newline:
                self._pump(deadline, timeout_s)
                continue
            self._lines = rest
            words = line.decode("latin-1").split(maxsplit=2)
            if words[:1] == ["stage"]:
                self.stage = " ".join(words[1:])
            elif words[:1] == ["trouble"]:
                raise GuestTrouble(" ".join(words[1:]))
            else:
                return words

    def ask(self, command: str, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """say() and hear()."""
        self.say(command)
        return self.hear(timeout_s)

    def _pump(self, deadline: float, timeout_s: float) -> None:
        if self._gone:
            self._ended()
            return
        ready = self._ready.poll(1000 * max(0.0, min(NUDGE_S, deadline - time.monotonic())))
        if not ready and time.monotonic() >= deadline:
            self._lost("hang", f"no answer in {timeout_s:g} s")
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
        self._lost("exit", f"its process ended ({self.process.wait()})")

    def _lost(self, kind: str, detail: str) -> None:
        console = self.console()
        if kind == "hang" and (status := self.process.poll()) is not None:
            kind, detail = "exit", f"its process ended ({status})"
        if any("Kernel panic" in line or "Oops" in line for line in console):
            kind = "panic"
        if any("Out of memory" in line for line in console):
            kind, detail = "exit", f"its {self._memory_mib} MiB were too few for this workload; {detail}"
        if is_full(self.folder):  # its memory and its disks are files there
            kind, detail = "exit", f"no room in {self.folder.parent} for its memory and disks; {detail}"
        raise LostGuest(kind, console, detail, self.stage)

    def close(self) -> None:
        """Kill it with all its processes, and wait until they are gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        # Under a KVM that hangs it may be in a call that no signal ends; it goes when that returns.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(CLOSE_TIMEOUT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        os.close(self._to_guest)
        os.close(self._from_guest)


def _pinned(command: list[str], processor: int | None) -> list[str]:
    """On one processor a switch between the kernel and its process costs a fifth of that on two (ptrace)."""
    return command if processor is None else ["taskset", "-c", str(processor), *command]


class GuestSlot:
    """One guest at a time, booted when it is needed and kept until it is dropped or we close."""

    def __init__(self, spec: GuestSpec, space: Workspace) -> None:
        self._spec = spec
        self._space = space
        self._stack = contextlib.ExitStack()
        self._guest: Guest | None = None
        self.boots = 0

    def guest(self) -> Guest:
        """Errors: as boot."""
        if self._guest is None:
            self._guest = self._stack.enter_context(boot(self._spec, self._space))
            self.boots += 1
        return self._guest

    def drop(self) -> None:
        """The guest is dead or no longer to be trusted: the next one is a new one."""
        self._guest = None
        self._stack.close()

    def __enter__(self) -> "GuestSlot":
        return self

    def __exit__(self, *exception: object) -> None:
        self.drop()


@contextlib.contextmanager
def boot(spec: GuestSpec, space: Workspace, timeout_s: float = BOOT_TIMEOUT_S) -> Iterator[Guest]:
    """A guest that has said it is ready. Errors: LostGuest, OSError."""
    backend = BACKENDS[spec.kind]
    for name, size_bytes in spec.devices():
        space.file(name, size_bytes)
    backend.prepare(spec, space.path)
    line = backend.channel()
    guest = Guest(_start(spec, backend, line, space), line, spec, space.path)
    try:
        answer = guest.hear(timeout_s)
        assert answer == ["ready"], answer
        yield guest
    finally:
        guest.close()


def _start(spec: GuestSpec, backend: Backend, line: Channel, space: Workspace) -> subprocess.Popen[bytes]:
    """Errors: OSError."""
    folder = space.path
    try:
        process = subprocess.Popen(
            _pinned(backend.command(spec, folder, line.theirs), spec.processor),
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
    space.register(process.pid)
    return process
