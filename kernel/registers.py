"""
Room for the registers of today's processors in a User Mode Linux that was written before them.

In:       a source tree that is ours alone, before it is compiled.
Out:      the tree with room for them, where it has a fixed and smaller one.
Not here: the stack that the larger frame needs (config/uml.config), compiling (build.py).

User Mode Linux saves and restores a process's registers through ptrace. The host takes them back only whole
(xstateregs_set() in arch/x86/kernel/fpu/regset.c: EFAULT for any other size), and the place for them
has a fixed size, 2,696 bytes, as large as AVX-512 needs. With AMX they are 11,008 bytes, and every guest
panics at its first process: "ptrace set fp regs failed, errno = 14". Kernels that ask the host for the size
(host_fp_size; 7.2 does) have no such line. What the host does not have is not copied: ptrace_regset() cuts
the size to that of the host.
"""

import re
from pathlib import Path

from kernel.files import replace

FILE = "arch/x86/um/user-offsets.c"
SIZE_BYTES = 11_264  # Sapphire Rapids has 11,008; cpuid leaf 0xd tells. Who changes it raises RECIPE_VERSION
_FIXED = re.compile(rb"(DEFINE_LONGS\(HOST_FP_SIZE, )2696(\);)")


def make_room(tree: Path) -> None:
    """Once or again. The tree may share its files with others by hard links, which keep the old content."""
    path = tree / FILE
    content, found = _FIXED.subn(rb"\g<1>%d\2" % SIZE_BYTES, path.read_bytes() if path.is_file() else b"")
    if found:
        replace(path, content)
