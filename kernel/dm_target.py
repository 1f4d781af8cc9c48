"""
The device mapper target of ours that holds the disk of a crash state while it is recovered.

In:       a source tree that is ours alone, before it is compiled.
Out:      the tree with dm-powercut.c in drivers/md/.
Not here: what the target does (dm-powercut.c), who uses it (harness/guests/agent/device.c).

No file of the kernel changes but the Makefile of that folder, and no option: it is compiled where device
mapper is. Kernels that Powercut did not build are without; there dm-snapshot stands in for it."""

import functools
import hashlib
from pathlib import Path

from kernel.files import replace

SOURCE = Path(__file__).with_name("dm-powercut.c")
FOLDER = "drivers/md"
LINE = b"\nobj-$(CONFIG_BLK_DEV_DM) += dm-powercut.o\n"


@functools.cache
def digest() -> str:
    """Of what is put in: another kernel where it differs."""
    return hashlib.sha256(SOURCE.read_bytes() + LINE).hexdigest()


def put(tree: Path) -> None:
    """Once or again. The tree may share its files with others by hard links, which keep the old content."""
    folder = tree / FOLDER
    makefile = folder / "Makefile"
    if not makefile.is_file():  # no kernel that could compile it
        return
    target, content = folder / SOURCE.name, SOURCE.read_bytes()
    if not target.is_file() or target.read_bytes() != content:
        target.unlink(missing_ok=True)
        target.write_bytes(content)
    rules = makefile.read_bytes()
    if LINE not in rules:
        replace(makefile, rules + LINE)
