"""
What each kernel for a guest gets of ours: the device mapper targets that hold the disk of a crash state while
it is recovered, and that tell the devices of a recording apart; and checksums that cost less.

In:       a source tree that is ours alone, before it is compiled.
Out:      the tree with dm-powercut.c and dm-powercut-slice.c in drivers/md/, jbd2-readahead.h in fs/jbd2/ and
          powercut-crc32c.c in lib/.
Not here: what the targets do (these files), who uses them (harness/guests/agent/device.c, slices.c).

No file of the kernel changes but the Makefiles of these folders, and no option: the targets are compiled
where device mapper is. Kernels that Powercut did not build are without; there dm-snapshot stands in."""

import functools
import hashlib
from pathlib import Path
from typing import NamedTuple

from kernel.files import replace

HERE = Path(__file__).parent


class Addition(NamedTuple):
    """A file of ours in a folder of the kernel, and the line of that folder's Makefile that names it."""

    source: Path
    folder: str
    line: bytes


TARGET = Addition(HERE / "dm-powercut.c", "drivers/md", b"\nobj-$(CONFIG_BLK_DEV_DM) += dm-powercut.o\n")
SLICE = Addition(
    HERE / "dm-powercut-slice.c", "drivers/md", b"\nobj-$(CONFIG_BLK_DEV_DM) += dm-powercut-slice.o\n"
)
READAHEAD = Addition(
    HERE / "jbd2-readahead.h",
    "fs/jbd2",
    b"\nCFLAGS_recovery.o += -include $(srctree)/fs/jbd2/jbd2-readahead.h\n",
)
CHECKSUM = Addition(HERE / "powercut-crc32c.c", "lib", b"\nobj-$(CONFIG_UML) += powercut-crc32c.o\n")
ADDITIONS = (TARGET, SLICE, READAHEAD, CHECKSUM)


@functools.cache
def digest() -> str:
    """Of what is put in: another kernel where it differs."""
    return hashlib.sha256(b"".join(one.source.read_bytes() + one.line for one in ADDITIONS)).hexdigest()


def put(tree: Path, additions: tuple[Addition, ...] = ADDITIONS) -> None:
    """Once or again. The tree may share its files with others by hard links, which keep the old content."""
    for one in additions:
        makefile = tree / one.folder / "Makefile"
        if not makefile.is_file():  # no kernel that could compile it
            continue
        added, content = makefile.with_name(one.source.name), one.source.read_bytes()
        if not added.is_file() or added.read_bytes() != content:
            added.unlink(missing_ok=True)
            added.write_bytes(content)
        rules = makefile.read_bytes()
        if one.line not in rules:
            replace(makefile, rules + one.line)
