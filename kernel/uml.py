"""
Two constants of User Mode Linux that do not fit its guests.

In:       a source tree that is ours alone, before it is configured.
Out:      the tree with other values, where it has the old ones.
Not here: the fragment that goes with them (config/uml.config), compiling (build.py).

**Registers.** User Mode Linux saves and restores a process's registers through ptrace. The host takes them
back only whole (xstateregs_set() in arch/x86/kernel/fpu/regset.c: EFAULT for any other size), and the place
for them has a fixed size, 2,696 bytes, as large as AVX-512 needs. With AMX they are 11,008 bytes, and every
guest panics at its first process: "ptrace set fp regs failed, errno = 14". Kernels that ask the host for
the size (host_fp_size; 7.2 does) have no such line. What the host does not have is not copied:
ptrace_regset() cuts the size to that of the host. The larger frame needs more stack (config/uml.config).

**Ticks.** dm-delay, which makes the slow device (guests/agent/device.c), holds a write back for whole
ticks. At 100 HZ each wait of a recording is then 10 to 20 ms, where a recording on the fast device takes 10
to 15 ms in all. Other architectures may choose HZ; arch/um/Kconfig has it as a constant. In a tree without
that line it stays as it is: the agent asks the clock how long a tick is.
"""

import re
from pathlib import Path
from typing import NamedTuple

from kernel.files import replace


class Constant(NamedTuple):
    """pattern: bytes, what stands before and behind the old value as its two groups."""

    file: str
    pattern: re.Pattern[bytes]
    value: int


# Who changes a value raises RECIPE_VERSION (build.py).
REGISTER_BYTES = Constant(
    "arch/x86/um/user-offsets.c",
    re.compile(rb"(DEFINE_LONGS\(HOST_FP_SIZE, )2696(\);)"),
    11_264,  # Sapphire Rapids has 11,008; cpuid leaf 0xd tells
)
HZ = Constant("arch/um/Kconfig", re.compile(rb"(\nconfig HZ\n\tint\n\tdefault )100(\n)"), 1000)
CONSTANTS = (REGISTER_BYTES, HZ)


def adapt(tree: Path) -> None:
    """Once or again. The tree may share its files with others by hard links, which keep the old content."""
    for constant in CONSTANTS:
        path = tree / constant.file
        old = path.read_bytes() if path.is_file() else b""
        content, found = constant.pattern.subn(rb"\g<1>%d\2" % constant.value, old)
        if found:
            replace(path, content)
