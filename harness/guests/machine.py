"""
A guest that is a machine of the user's, reached by ssh.

In:       a GuestSpec whose kind is "ssh:NAME", the host of this name in hosts.toml, a workspace.
Out:      start(): a MachineGuest.
Not here: what a guest is (interface.py), the agent's side (agent/machine.c), claims (hosts/claims.py), the
          connection itself (hosts/ssh.py), the kernel that runs there (hosts/deploy.py), what a dead kernel
          left there (hosts/pstore.py).

The agent there is a process of root; its standard input and output are the connection. Commands and answers,
ranges of devices, the kernel log and heartbeats share it as frames. Nothing is left there when it ends.
"""

import contextlib
import functools
import os
import select
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path

from harness.guests.agent_binary import agent_of
from harness.guests.interface import ANSWER_TIMEOUT_S, CONSOLE_LINES, GuestTrouble, LostGuest, answer
from harness.guests.kernels import by_key, under_test
from harness.guests.spec import DISK, LOG, PATIENCE, SSH, GuestSpec, host_of
from harness.hosts.agent import architecture, put
from harness.hosts.claims import Refused, holding, told
from harness.hosts.deploy import NeverAnswered, Tell, with_kernel
from harness.hosts.hosts import BadHost, Claim, Host, host
from harness.hosts.power import console
from harness.hosts.pstore import LAST_LINES, Seen, left_since, lines_since
from harness.hosts.pstore import look as look_at_store
from harness.hosts.reach import reached
from harness.hosts.running import is_remembered
from harness.hosts.ssh import Connection, RemoteFailed, Unreachable
from harness.hosts.watchdog import fed
from harness.local.workspace import Workspace
from harness.states.disk import data_runs
from kernel.kernel import Kernel

CONFIG_BYTES = 64 << 10  # agent/machine.c
EDGE_BYTES = 1 << 20  # agent/agent.h: CLAIM_EDGE_BYTES
FRAME = struct.Struct("<IHHQQ")  # agent/machine.h: struct frame
MAGIC = 0x5043524D
BEAT_S = 10.0  # the agent ends after 60 s of silence
SILENCE_S = 40.0  # the agent sends a beat every 5 s
CLOSE_S = 150.0  # agent/machine.h: twice END_S, and some more
CHUNK_BYTES = 1 << 20
CONSOLE_MAX = 1000
CONSOLE = "machine.console"  # what the user's command for it printed
LAST_WORDS_S = 3.0  # until a kernel that died has said why, by a serial line
DEATH = ("Kernel panic", "Oops", "BUG: ")


class Kind(IntEnum):
    """agent/machine.h: enum kind."""

    CONFIG = 1
    LINE = 2
    WRITE = 3
    ZERO = 4
    READ = 5
    BEAT = 6
    STOP = 7
    DATA = 8
    END = 9
    CONSOLE = 10
    REFUSED = 11
    TROUBLE = 12
    GONE = 13
    LEFT = 14


LOST: set[str] = set()  # machines whose guest died or hung, and was not started again
SILENT: dict[str, str] = {}  # those of them that were waited for in vain: what was tried
WITH_DATA = {Kind.LINE, Kind.DATA, Kind.CONSOLE, Kind.REFUSED, Kind.TROUBLE, Kind.LEFT}


def start(spec: GuestSpec, space: Workspace) -> "MachineGuest":
    """It need not be ready. The kernel under test is booted first, where another one runs.
    Errors: AgentError, BadHost, RemoteFailed, Unreachable, LostGuest, BuildFailed, OSError."""
    machine = host(host_of(spec.kind))
    config = config_of(spec, machine)
    with contextlib.ExitStack() as undo:
        kernel = under_test(spec.kernel)
        connection = undo.enter_context(running(machine, kernel))
        before = look_at_store(connection)
        told = space.path / CONSOLE
        told.unlink(missing_ok=True)
        if listener := undo.enter_context(console(machine, told)):
            space.register(listener)
        if kernel is not None:
            undo.enter_context(fed(connection))  # without a watchdog `reset` is left
        path = put_agent(connection, spec.agent)
        process = subprocess.Popen(
            connection.command([path, "machine"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        space.register(process.pid)
        last_words = functools.partial(last_words_of, machine, before)
        guest = MachineGuest(process, spec, space, undo.pop_all(), before.lines, last_words)
    try:
        guest.configure(config)
    except BaseException:
        guest.close()
        raise
    return guest


@contextlib.contextmanager
def running(machine: Host, kernel: Kernel | None) -> Iterator[Connection]:
    """The machine with that kernel; one that was waited for in vain is asked for a short time only.
    Errors: as with_kernel()."""
    lost = machine.name in LOST and machine.name not in SILENT
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(with_kernel(machine, kernel, lost))
        except Unreachable as error:
            if machine.name in SILENT and not isinstance(error, NeverAnswered):
                raise Unreachable(SILENT[machine.name]) from error
            raise
        LOST.discard(machine.name)
        SILENT.pop(machine.name, None)
        yield connection


def last_words_of(machine: Host, before: Seen) -> tuple[str, ...]:
    """What its kernel left in pstore when it died; nothing where it did not, or where the machine does not
    come back. The next start would have to wait for it anyway. Errors: OSError."""
    try:
        with reached(machine, lost=True) as connection, contextlib.suppress(RemoteFailed, Unreachable):
            return left_since(connection, before)
    except Unreachable as error:
        SILENT[machine.name] = str(error)
    except BadHost:  # a command of the user's failed, or we may not enter: the next start says so
        pass
    return ()


def boot_there(kind: str, kernel_key: str, tell: Tell) -> None:
    """So that the kernel under test runs; nothing where it does, or where what runs is tested.
    Errors: BadHost, RemoteFailed, Unreachable, BuildFailed, OSError."""
    if not is_remembered(kernel_key):
        with with_kernel(host(host_of(kind)), by_key(kind, kernel_key), tell=tell):
            pass


def require_claims(kind: str, agent: Path, device_bytes: int, log_bytes: int) -> None:
    """That the machine is free and its claimed devices are still what was claimed, and large enough, before a
    run is made. Errors: Refused, BadHost, Unreachable, AgentError."""
    machine = host(host_of(kind))
    needed = {DISK: device_bytes, LOG: log_bytes}
    claimed_disk(machine)
    with reached(machine) as connection:
        path = put_agent(connection, agent)
        for claim in machine.claims:
            if claim.size_bytes < needed[claim.role] + 2 * EDGE_BYTES:
                raise Refused(
                    f"{claim.device} has {claim.size_bytes >> 20} MiB, and the {claim.role} needs "
                    f"{(needed[claim.role] + 2 * EDGE_BYTES) >> 20} MiB"
                )
            with holding(connection, path, claim, "verify"):
                pass


def put_agent(connection: Connection, agent: Path) -> str:
    """Its path there: that of the same hash, for the machine's architecture. Errors: AgentError, BadHost,
    RemoteFailed, Unreachable, OSError."""
    return put(connection, agent_of(agent.name, architecture(connection)))


def claimed_disk(machine: Host) -> Claim:
    """Errors: Refused."""
    if claim := machine.claim(DISK):
        return claim
    raise Refused(
        f"{machine.name} has no claimed disk. Look for one with `powercut host show {machine.name}`, and "
        f"claim it with `powercut host claim {machine.name} /dev/disk/by-id/... --role disk`"
    )


def config_of(spec: GuestSpec, machine: Host) -> str:
    """What the agent sets up: agent/machine.c. The inbox and the outbox are in the machine's memory, the log,
    too, where no device is claimed for it. Errors: Refused, GuestTrouble."""
    claimed_disk(machine)
    lines = []
    for name, size_bytes in spec.devices():
        where = ["memory"]
        if name in (DISK, LOG) and (claim := machine.claim(name)):
            where = ["claim", *told(claim).splitlines()[:-1]]
        lines.append("\t".join(["device", name, str(size_bytes), *where]))
    lines.append(f"ram\t{spec.device_bytes}")
    if spec.programs:
        lines.append("programs")
    lines += [f"file\t{file.name}\t{file.read_bytes().hex()}" for file in spec.files]
    text = "\n".join(lines) + "\n"
    if len(text) > CONFIG_BYTES:
        names = ", ".join(file.name for file in spec.files)
        raise GuestTrouble(f"{names}: more than {CONFIG_BYTES // 2 >> 10} KiB cannot be sent with a script")
    return text


class MachineGuest:
    """A Guest. Use `start`. connection: to be closed with it. before: the last lines that its kernel had
    said. last_words: what its kernel left there, where it died; it may take long."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        spec: GuestSpec,
        space: Workspace,
        connection: contextlib.ExitStack,
        before: tuple[str, ...] = (),
        last_words: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self.pid = 0
        self.scratch = space.path
        self.kernel = spec.kernel
        self.used_up = False
        self.stage = ""
        self.held: dict[int, bytes] | None = {}
        self.told = b""
        self.left = ""  # what its agent could not undo there, once it is closed
        self._host = host_of(spec.kind)
        self._process = process
        self._connection = connection
        self._sizes = dict(spec.devices())
        self._numbers = {name: number for number, name in enumerate(self._sizes)}
        self._lines = b""
        self._before = before  # of what the console is told without
        self._console: list[str] = []
        self._last_words: Callable[[], tuple[str, ...]] | None = last_words
        self._left: tuple[str, ...] = ()  # by a kernel that died
        self._incoming = bytearray()
        self._heard = time.monotonic()
        self._data: list[tuple[int, bytes]] = []  # of the range that is read, what has come
        self._complete = False
        self._begun = False  # the agent has said something
        self._closed = False
        self._sending = threading.Lock()
        self._ended = threading.Event()
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._from = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        threading.Thread(target=self._beat, daemon=True).start()

    def configure(self, text: str) -> None:
        """The agent's first frame. Errors: LostGuest."""
        self._send(Kind.CONFIG, data=text.encode())

    # --- commands and answers ---

    def say(self, command: str) -> None:
        """As Guest's."""
        self._send(Kind.LINE, data=command.encode() + b"\n")

    def hear(self, timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """As Guest's."""
        timeout_s *= PATIENCE[SSH]
        deadline = time.monotonic() + timeout_s
        while True:
            line, newline, rest = self._lines.partition(b"\n")
            if not newline:
                if time.monotonic() >= deadline:
                    self._lost("hang", f"{self._host} did not answer within {timeout_s:g} s")
                self._pump(deadline)
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
        return self._sizes[device]

    def read(self, device: str, offset: int, length: int) -> bytes:
        """As Guest's."""
        length = max(0, min(length, self._sizes[device] - offset))
        content = bytearray(length)
        for at, data in self._runs(device, offset, length):
            content[at - offset : at - offset + len(data)] = data
        return bytes(content)

    def write(self, device: str, offset: int, data: bytes) -> None:
        """As Guest's."""
        self._send(Kind.WRITE, device, offset, data=data)

    def load(self, device: str, image: Path) -> None:
        """As Guest's."""
        self.empty(device)
        for offset, data in data_runs(image):
            self.write(device, offset, data)

    def empty(self, device: str) -> None:
        """As Guest's."""
        self._send(Kind.ZERO, device, 0, length=self._sizes[device])

    @contextlib.contextmanager
    def as_file(self, device: str) -> Iterator[Path]:
        """As Guest's: a copy in the scratch folder."""
        path = self.scratch / f"{device}.copy"
        try:
            with path.open("wb") as file:
                file.truncate(self._sizes[device])
                for offset, data in self._runs(device, 0, self._sizes[device]):
                    file.seek(offset)
                    file.write(data)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _runs(self, device: str, offset: int, length: int) -> Iterator[tuple[int, bytes]]:
        """What is not zero there. Errors: LostGuest, GuestTrouble."""
        self._data, self._complete = [], False
        self._send(Kind.READ, device, offset, length=length)
        deadline = time.monotonic() + ANSWER_TIMEOUT_S * PATIENCE[SSH]
        while True:
            yield from self._data
            self._data = []
            if self._complete:
                break
            if time.monotonic() >= deadline:
                self._lost("hang", f"{self._host} did not give the device {device}")
            self._pump(deadline)
            if self._data:
                deadline = time.monotonic() + ANSWER_TIMEOUT_S * PATIENCE[SSH]

    # --- its kernel's console ---

    def console(self, count: int = CONSOLE_LINES) -> tuple[str, ...]:
        """As Guest's: the serial console, where there is one and it says more; what was in pstore."""
        with contextlib.suppress(OSError):
            serial = (self.scratch / CONSOLE).read_text(errors="replace").splitlines()
            if any(word in line for line in serial for word in DEATH):
                return tuple(serial[-count:])
        return tuple((self._left or self._console)[-count:])

    def forget_console(self) -> None:
        """As Guest's."""
        self._pump(0)
        self._before = tuple(self._console[-LAST_LINES:]) or self._before
        self._console = []

    def close(self) -> None:
        """As Guest's: its agent undoes what it set up, and says what it could not (`left`)."""
        if self._closed:
            return
        self._closed = True
        self._ended.set()
        with contextlib.suppress(LostGuest, GuestTrouble, Refused):
            self._send(Kind.STOP)
            deadline = time.monotonic() + CLOSE_S
            while time.monotonic() < deadline:
                self._pump(deadline)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        self._connection.close()

    # --- frames ---

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            with self._sending, contextlib.suppress(OSError):  # a full pipe has data enough under way
                os.write(self._to, FRAME.pack(MAGIC, Kind.BEAT, 0, 0, 0))

    def _send(
        self, kind: Kind, device: str = "", offset: int = 0, data: bytes = b"", length: int = 0
    ) -> None:
        """Errors: LostGuest."""
        number = self._numbers[device] if device else 0
        head = FRAME.pack(MAGIC, kind, number, offset, len(data) or length)
        with self._sending:
            for part in (head, data):
                view = memoryview(part)
                while view:
                    try:
                        view = view[os.write(self._to, view[:CHUNK_BYTES]) :]
                    except BlockingIOError:
                        self._make_way()
                    except OSError:
                        self._lost("exit", f"the connection to {self._host} ended")

    def _make_way(self) -> None:
        """Until something can be sent. What comes is kept meanwhile, or both ends would wait."""
        poll = select.poll()
        poll.register(self._to, select.POLLOUT)
        poll.register(self._from, select.POLLIN)
        ready = poll.poll(1000 * SILENCE_S)
        if any(descriptor == self._from for descriptor, _ in ready):
            self._read()
        elif not ready:
            self._lost("hang", f"{self._host} takes no data")

    def _read(self) -> bool:
        """Whether something came. Errors: LostGuest where the connection is closed."""
        try:
            chunk = os.read(self._from, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._lost("exit", f"the connection to {self._host} ended")
        self._heard = time.monotonic()
        self._incoming += chunk
        return True

    def _pump(self, deadline: float) -> None:
        """Take what has come, or wait for it. Errors: LostGuest, GuestTrouble, Refused."""
        wait_s = max(0.0, min(deadline - time.monotonic(), SILENCE_S))
        ready, _, _ = select.select([self._from], [], [], wait_s)
        if not (ready and self._read()) and time.monotonic() - self._heard > SILENCE_S:
            self._lost("hang", f"{self._host} is silent")
        if not self._begun:
            self._begin()
        while self._begun and len(self._incoming) >= FRAME.size:
            magic, kind, _, offset, length = FRAME.unpack_from(self._incoming)
            if magic != MAGIC:
                raise GuestTrouble(f"no frame in what {self._host} sent: {bytes(self._incoming[:60])!r}")
            end = FRAME.size + (length if kind in WITH_DATA else 0)
            if len(self._incoming) < end:
                return
            data = bytes(self._incoming[FRAME.size : end])
            del self._incoming[:end]
            self._take(Kind(kind), offset, data)

    def _begin(self) -> None:
        """What a login shell prints comes before the first frame."""
        at = self._incoming.find(MAGIC.to_bytes(4, "little"))
        if at >= 0:
            del self._incoming[:at]
            self._begun = True

    def _take(self, kind: Kind, offset: int, data: bytes) -> None:
        if kind == Kind.LINE:
            self._lines += data
        elif kind == Kind.DATA:
            self._data.append((offset, data))
        elif kind == Kind.END:
            self._complete = True
        elif kind == Kind.CONSOLE:
            self._console += data.decode("latin-1").splitlines()
            if len(self._console) > CONSOLE_MAX:
                self._before = ()  # no longer next to it
                del self._console[:-CONSOLE_MAX]
        elif kind == Kind.REFUSED:
            raise Refused(f"{self._host}: {data.decode(errors='replace')}")
        elif kind == Kind.TROUBLE:
            raise GuestTrouble(f"{self._host}: {data.decode(errors='replace')}")
        elif kind == Kind.LEFT:
            self.left = data.decode(errors="replace")
        elif kind == Kind.GONE and not self._closed and b"\n" not in self._lines:
            self._lost("exit", f"its agent on {self._host} ended")

    def _lost(self, kind: str, detail: str) -> None:
        lines = self.console()
        deadline = time.monotonic() + LAST_WORDS_S
        while not dying(lines) and (self.scratch / CONSOLE).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
            lines = self.console()
        if not dying(lines):
            self._ask_for_last_words()
            lines = self.console()
        if dying(lines):
            kind = "panic"
        assert self._process.stderr is not None
        if kind == "exit" and self._process.poll() is not None:
            said = self._process.stderr.read().decode(errors="replace").strip().splitlines()
            detail += f": {said[-1]}" if said else ""
        LOST.add(self._host)
        raise LostGuest(kind, lines, detail, self.stage)

    def _ask_for_last_words(self) -> None:
        """Once: who is told of the loss may ask again. Whoever closes it does not wait for them."""
        ask, self._last_words = self._last_words, None
        if ask is None or self._closed:
            return
        with contextlib.suppress(OSError):
            if left := ask():
                self._left = lines_since(self._before, self._console, left)


def dying(lines: tuple[str, ...]) -> bool:
    """As other kinds of guests have it."""
    return any("Kernel panic" in line or "Oops" in line for line in lines)
