"""
The variant gcov: which files of a kernel count what is executed, and what is needed to read the counts.

In:       a source tree that is ours alone, before it is configured; later with its objects.
Out:      the filesystems under test with the counting switched on; a folder gcno/ with the notes of the
          compiler and the source for each counted file, as fs/btrfs/tree-log.gcno and fs/btrfs/tree-log.c.
Not here: the config (config/gcov.config), reading the counts (harness/stages/gcov.py).

Only the filesystems count: a kernel that counts everywhere is several times slower, and its own counting
of time and interrupts would be in every figure.
"""

import hashlib
import re
import shutil
from pathlib import Path

from kernel.files import replace
from kernel.kernel import BuildFailed
from kernel.make import OBJECTS

VARIANT = "gcov"
COUNTED = ("fs/btrfs", "fs/ext4", "fs/f2fs", "fs/iomap", "fs/jbd2", "fs/xfs")
# Documentation/dev-tools/gcov.rst. What is inlined before the counters are put in has none of its own.
LINES = b"GCOV_PROFILE := y\nccflags-y += -fno-early-inlining\n"

START = "kernel/gcov/gcc_base.c"
# Each counted file makes itself known in a constructor. User Mode Linux is an ordinary program, whose
# constructors libc runs before there is a kernel: no printk, no mutex then, and nobody to lock out.
_START_BODY = re.compile(rb"(void __gcov_init\(struct gcov_info \*info\)\n\{\n).*?(\n\})", re.DOTALL)
_START_ALONE = rb"\1\tgcov_info_link(info);\2"


def digest() -> str:
    """Of what decides which files count and how: another kernel where it differs."""
    return hashlib.sha256(b"\0".join([LINES, *(folder.encode() for folder in COUNTED)])).hexdigest()


def switch_on(tree: Path) -> None:
    """Once or again. The tree may share its files with others by hard links, which keep the old content.
    Errors: BuildFailed."""
    for folder in COUNTED:
        makefile = tree / folder / "Makefile"
        content = makefile.read_bytes() if makefile.is_file() else LINES
        if not content.startswith(LINES):
            replace(makefile, LINES + content)
    start = tree / START
    content, found = _START_BODY.subn(_START_ALONE, start.read_bytes() if start.is_file() else b"")
    if not found:
        raise BuildFailed(
            f"the gcov support of this source tree is not known to Powercut: {START} has no __gcov_init()"
        )
    if content != start.read_bytes():
        replace(start, content)


def keep_notes(tree: Path, directory: Path) -> None:
    """gcno/ in that directory. Errors: OSError."""
    objects = tree / OBJECTS
    for folder in COUNTED:
        for notes in sorted((objects / folder).rglob("*.gcno")):
            name = notes.relative_to(objects)
            kept = directory / "gcno" / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(notes, kept)
            shutil.copyfile((tree / name).with_suffix(".c"), kept.with_suffix(".c"))
