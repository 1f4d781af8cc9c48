"""
A running kernel that obeys us: User Mode Linux with our agent as its only process.

In:       a kernel binary, an agent binary, a workspace.
Out:      Guest: say() a command, hear() its answers, with deadlines; LostGuest tells how it ended.
Not here: what the commands mean (record.py, recover.py), the agent itself (agent/*.c).

Devices: ubda is the recorded disk, ubdb its log, ubdc the inbox (host to guest), ubdd the outbox
(guest to host), each a file on tmpfs. Commands and answers are lines on ttyS0, a pair of pipes.
Measured per 4 KiB on one machine, pinned to a processor: ubd 49 us to read; a file on hostfs 83 us to
write and sync; a line on a tty 33 us, but no more than 4 KiB and no blocks. So bulk goes through ubd
and the bell through the tty.
"""

import contextlib
import fcntl
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.workspace import Workspace

INBOX_BYTES = 32 << 20
OUTBOX_BYTES = 64 << 20
LINE_BYTES = 1 << 20  # answers that wait for us: pipe-max-size of proc(5)
MEMORY_MIB = 512
BOOT_TIMEOUT_S = 20.0
ANSWER_TIMEOUT_S = 30.0
NUDGE_S = 2.0
# Saves the delay calibration at boot; any value does, since no driver here waits in delay loops.
LOOPS_PER_JIFFY = 30_000_000
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


class GuestSpec(msgspec.Struct, frozen=True):
    """What a guest is made of. processor: the host processor to pin it to, None for any."""

    kernel: Path
    agent: Path
    device_bytes: int
    log_bytes: int
    processor: int | None = None


class Guest:
    """A booted guest. Use `boot`."""

    def __init__(
        self, process: subprocess.Popen[bytes], to_guest: int, from_guest: int, folder: Path
    ) -> None:
        self.process = process
        self.folder = folder
        self._to_guest = to_guest
        self._from_guest = from_guest
        self._lines = b""
        self._console = b""
        self.stage = ""
        # Of the recovery of states (recover.py): its disk's blocks that are not zero, None when they are
        # not known, and the last report that came by the line.
        self.held: dict[int, bytes] | None = {}
        self.told = b""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(from_guest, selectors.EVENT_READ, "line")
        self._selector.register(process.stdout.fileno(), selectors.EVENT_READ, "console")

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
        """The next answer, two words and the rest. Errors: LostGuest; GuestTrouble, as the agent said."""
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
        ready = self._selector.select(max(0.0, min(NUDGE_S, deadline - time.monotonic())))
        if not ready and time.monotonic() >= deadline:
            self._lost("hang", f"no answer in {timeout_s:g} s")
        if not ready:
            self._nudge()
        for key, _ in ready:
            try:
                chunk = os.read(key.fd, 65536)
            except OSError:  # EIO: the other end is gone
                chunk = b""
            if key.data == "console":
                self._console = (self._console + chunk)[-65536:]
                if not chunk:
                    self._selector.unregister(key.fd)
                    self._ended()
            else:
                self._lines += chunk

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
        if any("Kernel panic" in line or "Oops" in line for line in console):
            kind = "panic"
        if any("Out of memory" in line for line in console):
            kind, detail = "exit", f"its {MEMORY_MIB} MiB were too few for this workload; {detail}"
        raise LostGuest(kind, console, detail, self.stage)

    def close(self) -> None:
        """Kill it with all its processes, and wait until they are gone."""
        self._selector.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        os.close(self._to_guest)
        os.close(self._from_guest)


def _make_root(folder: Path, agent: Path) -> Path:
    """What the guest sees as /: the agent and empty mount points, nothing else of the host."""
    root = folder / "root"
    for name in ("dev", "proc", "sys", "mnt"):
        (root / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(agent, root / "init")
    return root


def command_line(spec: GuestSpec, folder: Path, line_fds: tuple[int, int]) -> list[str]:
    """The UML command that boots it."""
    return [
        str(spec.kernel),
        f"mem={MEMORY_MIB}M",
        f"lpj={LOOPS_PER_JIFFY}",
        "quiet",
        "oops=panic",
        # From 6.16 on seccomp filters may hold the guest's processes instead of ptrace, with which some
        # processors have trouble. Measured on 7.2: a round of bench's bare loop costs 2.9 ms of processor
        # instead of 3.3 on btrfs, the same on xfs. Older kernels hand the word on to the agent, to no effect.
        "seccomp=auto",
        "rootfstype=hostfs",
        "root=/dev/root",
        f"rootflags={folder / 'root'}",
        "rw",
        "init=/init",
        f"ubd0={folder / 'disk'}",
        f"ubd1={folder / 'log'}",
        f"ubd2={folder / 'inbox'}",
        f"ubd3={folder / 'outbox'}",
        "brd.rd_nr=3",
        f"brd.rd_size={spec.device_bytes >> 10}",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        f"ssl0=fd:{line_fds[0]},fd:{line_fds[1]}",
        f"uml_dir={folder}/",
        "umid=guest",
    ]


def _pinned(command: list[str], processor: int | None) -> list[str]:
    """On one processor a switch between the kernel and its process costs a fifth of that on two (ptrace)."""
    return command if processor is None else ["taskset", "-c", str(processor), *command]


class Keeper:
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

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, *exception: object) -> None:
        self.drop()


@contextlib.contextmanager
def boot(spec: GuestSpec, space: Workspace) -> Iterator[Guest]:
    """A guest that has said it is ready. Errors: LostGuest, OSError."""
    folder = space.path
    _make_root(folder, spec.agent)
    for name, size_bytes in (
        ("disk", spec.device_bytes),
        ("log", spec.log_bytes),
        ("inbox", INBOX_BYTES),
        ("outbox", OUTBOX_BYTES),
    ):
        space.file(name, size_bytes)
    guest_in, to_guest = os.pipe()
    from_guest, guest_out = os.pipe()
    fcntl.fcntl(from_guest, fcntl.F_SETPIPE_SZ, LINE_BYTES)
    try:
        process = subprocess.Popen(
            _pinned(command_line(spec, folder, (guest_in, guest_out)), spec.processor),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(guest_in, guest_out),
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "HOME": str(folder)},
        )
    except OSError:
        os.close(to_guest)
        os.close(from_guest)
        raise
    finally:
        os.close(guest_in)
        os.close(guest_out)
    space.register(process.pid)
    guest = Guest(process, to_guest, from_guest, folder)
    try:
        answer = guest.hear(BOOT_TIMEOUT_S)
        assert answer == ["ready"], answer
        yield guest
    finally:
        guest.close()
