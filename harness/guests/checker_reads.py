"""
Which blocks of its image a checker reads.

In:       the preloaded library (checker_reads/) and the host's C compiler; the file that the library leaves.
Out:      environment() for the checker, blocks_read() after it.
Not here: running the checker (filesystem.py), what follows from its reads (stages/checks.py), the
          reads of a mount (agent/reads.c).
"""

import functools
import hashlib
import struct
from pathlib import Path

from harness.guests.agent_binary import compiled
from harness.states.disk import BLOCK_BYTES

SOURCE = Path(__file__).parent / "checker_reads" / "checker_reads.c"
COMPILE = ("gcc", "-std=gnu17", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")
HEAD = struct.Struct("<QQQ")  # checker_reads.c: struct head
MAGIC = int.from_bytes(b"PWCREADP", "little")


@functools.cache
def reads_library() -> Path:
    """Compiled once for each version of its source. Errors: AgentError, OSError."""
    name = hashlib.sha256(" ".join(COMPILE).encode() + SOURCE.read_bytes()).hexdigest()[:16]
    return compiled(f"{name}.so", COMPILE, (SOURCE,), SOURCE.name)


def environment(image: Path, reads: Path) -> dict[str, str]:
    """What a program is started with so that it leaves in `reads` what it reads of the image.
    Errors: AgentError, OSError."""
    return {"LD_PRELOAD": str(reads_library()), "POWERCUT_IMAGE": str(image), "POWERCUT_READS": str(reads)}


def blocks_read(reads: Path, size_bytes: int) -> tuple[int, ...] | None:
    """Of an image of that size, ascending. None where they are not known: the program died, is linked
    statically, or read in a way that the library does not write down."""
    try:
        raw = reads.read_bytes()
    except FileNotFoundError:
        return None
    if len(raw) < HEAD.size:
        return None
    magic, block_count, read_count = HEAD.unpack_from(raw)
    whole = len(raw) == HEAD.size + 8 * read_count and block_count == -(-size_bytes // BLOCK_BYTES)
    return struct.unpack_from(f"<{read_count}Q", raw, HEAD.size) if magic == MAGIC and whole else None
