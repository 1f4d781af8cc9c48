"""
The agent as a static binary, compiled once for each version of its source.

In:       harness/guests/agent/*.c, an architecture, and the C compiler for it.
Out:      the binary in the user's cache, and the hash that names it on any machine; compiled(), for others.
Not here: what it does (agent/agent.c), where it runs (guest.py), of which architecture a machine is
          (harness/hosts/agent.py).

The hash is that of the source: an agent of x86_64 and one of aarch64 with the same hash are the same program.
"""

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from filelock import FileLock

from harness.local.packages import AGENT_AARCH64, install_line, missing
from kernel import cache
from kernel.kernel import MachineArch

SOURCE = Path(__file__).parent / "agent"
COMPILE = ("gcc", "-std=gnu17", "-O2", "-static", "-pthread", "-Wall", "-Wextra", "-Werror")
CROSS_COMPILER = "aarch64-linux-gnu-gcc"
OURS: MachineArch = "x86_64"  # of guests, and of most machines


class AgentError(Exception):
    """The agent does not compile here; the message holds the compiler's first error."""


def agent_hash() -> str:
    """Of this checkout's agent: equal only for equal source, compiled alike."""
    digest = hashlib.sha256(" ".join(COMPILE).encode())
    for source in sorted(SOURCE.glob("*.[ch]")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def agent_of(wanted: str, architecture: MachineArch = OURS) -> Path:
    """The binary of this hash. Errors: AgentError when it is neither here nor this checkout's; OSError."""
    if wanted == agent_hash():
        return agent_binary(architecture)
    binary = cache.root() / "agents" / _name(wanted, architecture)
    if not re.fullmatch(r"[0-9a-f]{16}", wanted) or not binary.is_file():
        of = "" if architecture == OURS else f" for {architecture}"
        raise AgentError(
            f"the agent {wanted!r} is not available{of}; the agent of this checkout is {agent_hash()}"
        )
    cache.use(binary)
    cache.touch(binary)
    return binary


def agent_binary(architecture: MachineArch = OURS) -> Path:
    """Errors: AgentError, OSError."""
    name = _name(agent_hash(), architecture)
    return compiled(name, _command(architecture), sorted(SOURCE.glob("*.c")), "the agent")


def _name(wanted: str, architecture: MachineArch) -> str:
    return wanted if architecture == OURS else f"{wanted}-{architecture}"


def _command(architecture: MachineArch) -> tuple[str, ...]:
    """Errors: AgentError."""
    if architecture == OURS:
        return COMPILE
    if lacking := missing(AGENT_AARCH64):
        raise AgentError(
            f"the agent cannot be compiled for {architecture}. Install the cross compiler: "
            + install_line(lacking)
        )
    return (CROSS_COMPILER, *COMPILE[1:])


def compiled(name: str, command: Sequence[str], sources: Iterable[Path], what: str) -> Path:
    """The file of this name in the cache, made by the compiler if it is not there yet. what: for messages.
    Errors: AgentError, OSError."""
    folder = cache.root() / "agents"
    binary = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if not binary.exists():
            _compile([*command, *map(str, sources)], binary, what)
        cache.use(binary)
        cache.touch(binary)
    return binary


def _compile(command: list[str], binary: Path, what: str) -> None:
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        built = Path(folder) / "built"
        try:
            subprocess.run([*command, "-o", str(built)], check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise AgentError(
                f"gcc is needed to compile {what} and is not installed: apt-get install gcc libc6-dev"
            ) from error
        except subprocess.CalledProcessError as error:
            first = next((line for line in error.stderr.splitlines() if "error" in line), error.stderr[:200])
            raise AgentError(f"{what} cannot be compiled: {first}") from error
        built.rename(binary)
