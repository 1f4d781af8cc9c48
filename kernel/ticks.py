"""
A thousand ticks a second in User Mode Linux, whose clock has a hundred.

In:       a source tree that is ours alone, before it is configured.
Out:      the tree whose Kconfig has the other number, where it has the old one.
Not here: what counts in ticks (guests/agent/device.c), the fragment (config/uml.config), make (build.py).

dm-delay, which makes the slow device, holds a write back for whole ticks. At 100 HZ each wait of a recording
is then 10 to 20 ms, where a recording on the fast device takes 10 to 15 ms in all. Other architectures may
choose HZ; arch/um/Kconfig has it as a constant. In a tree without that line it stays as it is: the agent asks
the clock how long a tick is.
"""

import re
from pathlib import Path

from kernel.files import replace

FILE = "arch/um/Kconfig"
HZ = 1000  # who changes it changes config/uml.config, too, and raises RECIPE_VERSION
_CONSTANT = re.compile(rb"(\nconfig HZ\n\tint\n\tdefault )100\n")


def make_short(tree: Path) -> None:
    """Once or again. The tree may share its files with others by hard links, which keep the old content."""
    path = tree / FILE
    content, found = _CONSTANT.subn(rb"\g<1>%d\n" % HZ, path.read_bytes() if path.is_file() else b"")
    if found:
        replace(path, content)
