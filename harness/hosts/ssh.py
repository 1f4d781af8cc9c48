"""
One connection to a machine, by the user's own OpenSSH.

In:       a Host.
Out:      connect(): a Connection; run() gives the output of a script there, command() the words that start
          a program there. Unreachable and NoEntry with the cause and the fix.
Not here: what is asked of the machine (look.py), the agent there (agent.py).

The user's configuration, keys, ProxyJump and known hosts hold; nothing here makes ssh less strict. One
ssh holds the connection (ControlMaster), and all others go through it. That one ends when the pipe at its
input closes, so also when we are killed by -9; programs that were started by command() see the end of their
own input then.
"""

import contextlib
import os
import re
import secrets
import selectors
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.hosts.hosts import PLACE, BadHost, Host, place

CONNECT_S = 15
ALIVE_S, ALIVE_COUNT = 5, 3  # no answer for 15 s: the connection is dead
OPTIONS = (
    "BatchMode=yes",  # no question: nobody may be there to answer
    f"ConnectTimeout={CONNECT_S}",
    f"ServerAliveInterval={ALIVE_S}",
    f"ServerAliveCountMax={ALIVE_COUNT}",
    "ClearAllForwardings=yes",  # those of the user's configuration are not for us
    "ForwardAgent=no",
    "ForwardX11=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "PermitLocalCommand=no",
    "ControlPersist=no",
    "LogLevel=ERROR",  # no banner in the messages
    "EscapeChar=none",
)
# Whether we are root, or may be by sudo. Then until the pipe at our end closes.
GREETING = """
echo {mark}
if [ "$(id -u)" = 0 ]; then echo root; elif sudo -n true 2>/dev/null; then echo sudo; else id -un; fi
exec cat >/dev/null
"""
SUDO = ("sudo", "-n", "--")


class Unreachable(Exception):
    """There is no connection, or no longer; the message has the cause and the fix."""


class NoEntry(BadHost):
    """The machine can be reached, and we may not enter: its key is not known, or ours is not accepted."""


class RemoteFailed(Exception):
    """A script there ended with another status than 0."""

    def __init__(self, name: str, status: int, error: str) -> None:
        super().__init__(f"{name}: a script there ended with status {status}: {error.strip()[-500:]}")
        self.status, self.error = status, error


class Connection:
    """While `connect` lasts. is_root: as the user of the address, else programs are started by sudo -n."""

    def __init__(self, host: Host, folder: Path, master: subprocess.Popen[bytes]) -> None:
        self.host = host
        self.is_root = False
        self._socket = folder / "s"
        self._errors = folder / "errors"
        self._master = master

    def command(self, words: Sequence[str]) -> list[str]:
        """To be started here: it runs these words there, as root, with its input, output, errors and status
        (255 when the connection is lost). What the login shell there prints comes before its output."""
        prefix = () if self.is_root else SUDO
        return [*_ssh(self.host, self._socket), *_through(self.host), shlex.join([*prefix, *words])]

    def run(self, script: str, data: bytes = b"", timeout_s: float = 60) -> bytes:
        """The output of a script for /bin/sh there, run as root, with `data` at its input.
        Errors: RemoteFailed, Unreachable."""
        mark = secrets.token_hex(16)
        words = self.command(["/bin/sh", "-c", f"echo {mark}\n{script}"])
        try:
            done = subprocess.run(words, check=False, input=data, capture_output=True, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise Unreachable(f"{self.host.name}: a script there has not ended in {timeout_s:g} s") from error
        errors = done.stderr.decode(errors="replace")
        _noise, found, output = done.stdout.partition(f"{mark}\n".encode())
        if done.returncode == 255 and not (found and self.is_alive()):
            raise Unreachable(
                f"{self.host.name}: the connection is lost: {self._last_words() or errors.strip()}"
            )
        if done.returncode:
            raise RemoteFailed(self.host.name, done.returncode, errors)
        return output

    def is_alive(self) -> bool:
        """Whether the machine answers or has not yet been silent for long."""
        return self._master.poll() is None

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._master.wait(1)
        return self._errors.read_text(errors="replace").strip()


@contextlib.contextmanager
def connect(host: Host) -> Iterator[Connection]:
    """Errors: NoEntry, Unreachable; BadHost when we are not root there."""
    if shutil.which("ssh") is None:
        raise BadHost("ssh is needed to reach a machine: apt-get install openssh-client")
    # Below the system's temporary folder: the path of a socket has 108 bytes at most.
    with tempfile.TemporaryDirectory(prefix="powercut-ssh-") as name:
        folder = Path(name)
        mark = secrets.token_hex(16)
        with (folder / "errors").open("wb") as errors:
            words = [*_ssh(host, folder / "s"), "-o", "ControlMaster=yes", "--", host.address]
            master = subprocess.Popen(
                [*words, shlex.join(["/bin/sh", "-c", GREETING.format(mark=mark)])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "LC_ALL": "C"},  # its messages are read
                start_new_session=True,  # Ctrl-C is for us: what we have there is undone first
            )
        connection = Connection(host, folder, master)
        try:
            _greet(connection, master, mark, folder)
            yield connection
        finally:
            _end(master)


def _greet(connection: Connection, master: subprocess.Popen[bytes], mark: str, folder: Path) -> None:
    lines = lines_of(master, 2 * CONNECT_S)
    host = connection.host
    for line in lines:
        if line == mark:
            break
    user = next(lines, None)
    if user is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            master.wait(1)
        raise trouble(host, (folder / "errors").read_text(errors="replace"))
    if user not in ("root", "sudo"):
        raise BadHost(
            f"{host.name}: {user} is not root there, and `sudo -n true` is refused. Use root@ in the "
            f"address, or let {user} use sudo without a password"
        )
    connection.is_root = user == "root"


def lines_of(process: subprocess.Popen[bytes], timeout_s: float) -> Iterator[str]:
    """Of its output, until it ends or the time is over."""
    assert process.stdout is not None
    deadline, buffer = time.monotonic() + timeout_s, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left_s := deadline - time.monotonic()) > 0 and selector.select(left_s):
            more = os.read(process.stdout.fileno(), 1 << 16)
            *lines, buffer = (buffer + more).split(b"\n")
            yield from (line.decode(errors="replace").strip() for line in lines)
            if not more:
                return


def _end(master: subprocess.Popen[bytes]) -> None:
    assert master.stdin is not None
    assert master.stdout is not None
    with contextlib.suppress(OSError):
        master.stdin.close()
    try:
        master.wait(5)
    except subprocess.TimeoutExpired:
        master.terminate()  # it waits for another that goes through it, or for a machine that is silent
        try:
            master.wait(5)
        except subprocess.TimeoutExpired:
            master.kill()
            master.wait()
    master.stdout.close()


def _ssh(host: Host, socket: Path) -> list[str]:
    words = ["ssh", "-T", "-S", str(socket)]
    for option in OPTIONS:
        words += ["-o", option]
    if host.ssh_config:
        words += ["-F", str(config_of(host))]
    if host.port:
        words += ["-p", str(host.port)]
    return words


def _through(host: Host) -> list[str]:
    """Never a connection of its own: one that is lost stays lost until somebody calls connect again."""
    return ["-o", "ControlMaster=no", "-o", "ProxyCommand=false", "--", host.address]


def config_of(host: Host) -> Path:
    """A relative path begins in the folder of hosts.toml."""
    return place().parent / Path(host.ssh_config).expanduser()


# Part of what OpenSSH says (9.2, ssh.c, sshconnect.c, sshconnect2.c), what it means, and the fix.
_ENTRY = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is not the one in known_hosts",
        "If the machine was installed again, remove the old key: ssh-keygen -R {target}. If not, another "
        "machine answers at this address",
    ),
    (
        "Host key verification failed",
        "its host key is not known",
        "Connect once by hand, compare the key, and accept it: {ssh}",
    ),
    (
        "Permission denied",
        "it accepts no key of yours",
        "Let it know one (ssh-copy-id {options}{address}), or load yours into the agent (ssh-add). "
        "A password cannot be asked for",
    ),
    (
        "Too many authentication failures",
        "it was offered too many keys",
        "Name one by IdentityFile in ssh's config",
    ),
    ("Bad configuration option", "ssh does not understand its configuration", "{last}"),
    ("Can't open user config file", "`ssh_config` cannot be read", "{last}"),
    (
        "Could not resolve hostname",
        "its name has no address",
        "Correct the address: in the command, or `address` in {hosts}",
    ),
)
_ROUTE = (
    ("Connection refused", "nothing listens there", "Is sshd running, and on this port?"),
    ("No route to host", "there is no way to it", "Is it on, and on this network?"),
    ("Network is unreachable", "there is no way to its network", "Is this machine on the network?"),
    ("timed out", f"no answer in {CONNECT_S} s", "Is it on, and on this network?"),
    ("kex_exchange_identification", "it ended the connection at once", "Is it still booting? {last}"),
)


def trouble(host: Host, said: str) -> Exception:
    """What ssh said before it gave up, as NoEntry or Unreachable."""
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    options = f"-F {config_of(host)} " if host.ssh_config else ""
    options += f"-p {host.port} " if host.port else ""
    values = {
        "address": host.address,
        "target": re.sub(r"^.*@", "", host.address),
        "options": options,
        "ssh": f"ssh {options}{host.address}",
        "last": last,
        "hosts": os.environ.get(PLACE) or place(),
    }
    for table, kind in ((_ENTRY, NoEntry), (_ROUTE, Unreachable)):
        for part, cause, fix in table:
            if part in said:
                return kind(f"{host.name} ({host.address}): {cause}. {fix.format(**values)}")
    cause = f"ssh said: {last}" if last else f"no answer in {2 * CONNECT_S} s"
    return Unreachable(f"{host.name} ({host.address}): {cause}. Try by hand: {values['ssh']}")
