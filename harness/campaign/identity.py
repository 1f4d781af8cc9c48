"""
Which Powercut works for a campaign: two that differ in one line may give different results.

In:       the files of this Powercut.
Out:      Identity; here().
Not here: what is done with one that differs (head.py, worker.py, batch.py).
"""

import functools
import hashlib

import msgspec

from harness.local import version
from harness.local.root import ROOT

ROOMS = ("kernel", "workloads", "oracles", "reports", "harness")
# What is decided or examined follows from these; pages and documents do not count.
SUFFIXES = (".py", ".c", ".h", ".S", ".toml", ".config")


class Identity(msgspec.Struct, frozen=True):
    """version, commit: as `powercut --version` prints them. source: a hash of the program itself."""

    version: str
    commit: str
    source: str

    def __str__(self) -> str:
        return f"powercut {self.version} ({self.commit}, source {self.source})"


@functools.cache
def here() -> Identity:
    """Of this process, as its files were when it first asked."""
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            inner = path.relative_to(ROOT).parts
            if path.suffix in SUFFIXES and not {"tests", "suite", "book", "__pycache__"} & set(inner):
                digest.update(f"{'/'.join(inner)}\0".encode() + path.read_bytes())
    return Identity(version.VERSION, version.commit(), digest.hexdigest()[:12])
