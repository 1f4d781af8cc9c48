"""
The agent as a static binary, compiled once for each version of its source.

In:       harness/guests/agent/*.c and the host's C compiler.
Out:      the path of the binary in the user's cache.
Not here: what it does (agent/agent.c), where it runs (guest.py).
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

from kernel import cache

SOURCE = Path(__file__).parent / "agent"
COMPILE = ("gcc", "-std=gnu17", "-O2", "-static", "-pthread", "-Wall", "-Wextra", "-Werror")


class AgentError(Exception):
    """The agent does not compile here; the message holds the compiler's first error."""


def agent_binary() -> Path:
    """Errors: AgentError, OSError."""
    sources = sorted(SOURCE.glob("*.[ch]"))
    digest = hashlib.sha256(" ".join(COMPILE).encode())
    for source in sources:
        digest.update(source.read_bytes())
    folder = cache.root() / "agents"
    binary = folder / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if not binary.exists():
            _compile([str(source) for source in sources if source.suffix == ".c"], binary)
        cache.use(binary)
        cache.touch(binary)
    return binary


def _compile(sources: list[str], binary: Path) -> None:
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        built = Path(folder) / "agent"
        try:
            subprocess.run([*COMPILE, "-o", str(built), *sources], check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise AgentError("no gcc to compile the agent: apt-get install gcc libc6-dev") from error
        except subprocess.CalledProcessError as error:
            first = next((line for line in error.stderr.splitlines() if "error" in line), error.stderr[:200])
            raise AgentError(f"the agent does not compile: {first}") from error
        built.rename(binary)
