"""
The variant stops: a kernel whose tasks can be told to stop where they enter or leave a function.

In:       a source tree that is ours alone, before it is configured.
Out:      the tree with powercut-stops.c in fs/, and the functions of the filesystems, of the files of fs/
          and mm/ that write back for them, and of locks that sleep, calling it at their entry and their end.
Not here: what a stop is (powercut-stops.c), the config (config/stops.config), who asks for one (the word
          `stop`; harness/guests/agent/stops.c).

Functions of headers are left out: they are copied into hundreds of places, and stand for none of them.
"""

import hashlib
from pathlib import Path

from kernel.dm_target import Addition, put
from kernel.files import replace
from kernel.profiling import COUNTED

VARIANT = "stops"
STOPS = Addition(Path(__file__).with_name("powercut-stops.c"), "fs", b"\nobj-y += powercut-stops.o\n")
FOLDERS = COUNTED
# By folder: what makes pages dirty, writes them, waits for them, and drops them; and what takes and gives
# back locks, which filesystems often do in functions of headers.
FILES = {
    "fs": ("buffer", "direct-io", "fs-writeback", "mpage", "sync"),
    "kernel/locking": ("mutex", "rwsem", "semaphore"),
    "mm": ("filemap", "page-writeback", "truncate"),
}
FLAGS = "-finstrument-functions -finstrument-functions-exclude-file-list=include/"


def digest() -> str:
    """Of what is put in, and where functions call it: another kernel where it differs."""
    parts = [STOPS.source.read_bytes(), FLAGS.encode(), *(folder.encode() for folder in FOLDERS)]
    parts += [f"{folder}/{name}".encode() for folder, names in FILES.items() for name in names]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def switch_on(tree: Path) -> None:
    """Once or again. The tree may share its files with others by hard links, which keep the old content."""
    for folder in FOLDERS:
        _begin(tree / folder / "Makefile", f"ccflags-y += {FLAGS}\n")
    for folder, names in FILES.items():
        _begin(tree / folder / "Makefile", "".join(f"CFLAGS_{name}.o += {FLAGS}\n" for name in names))
    put(tree, (STOPS,))


def _begin(makefile: Path, lines: str) -> None:
    """A Makefile that a source does not have is left: what it would compile is not there."""
    content = makefile.read_bytes() if makefile.is_file() else b""
    if content and lines.encode() not in content:
        replace(makefile, lines.encode() + content)
