"""
The Debian packages that a kernel build needs.

In:       nothing.
Out:      Requirement; REQUIRED_PACKAGES; find() a program; missing() ones.
Not here: installing them (harness/local/door.py), what a run needs beside a kernel
          (harness/local/packages.py).

Only the standard library, since the one command reads this before its virtual environment exists; and
a NamedTuple, since importing dataclasses costs every start 10 ms.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # Debian's tools, whatever else (a rustc, say) the user has


class Requirement(NamedTuple):
    """shown_by: a command to be found in PATH, or a file that is there when the package is."""

    package: str
    shown_by: str
    why: str


REQUIRED_PACKAGES = (
    Requirement("gcc", "gcc", "the compiler"),
    Requirement("make", "make", "drives the build"),
    Requirement("libc6-dev", "/usr/include/stdio.h", "links User Mode Linux, which is a program of the host"),
    Requirement("flex", "flex", "the kernel's configuration parser"),
    Requirement("bison", "bison", "the kernel's configuration parser"),
    Requirement("bc", "bc", "kernel/time/timeconst.bc"),
    Requirement("xz-utils", "xz", "unpacks the source"),
    Requirement("patch", "patch", "series that are patches"),
    Requirement("coccinelle", "spatch", "series that are semantic patches"),
)
# Beside these, by the architecture that a kernel is built for (kernel.Arch). A machine of aarch64 has both by
# these names with its own gcc and binutils.
CROSS_PACKAGES = {
    "arm64": (
        Requirement("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "compiles for aarch64"),
        Requirement("binutils-aarch64-linux-gnu", "aarch64-linux-gnu-ld", "links for aarch64"),
    ),
}


def required(arch: str = "um") -> tuple[Requirement, ...]:
    """Of a kernel for an architecture."""
    return (*REQUIRED_PACKAGES, *CROSS_PACKAGES.get(arch, ()))


def find(program: str, path: str = PATH) -> str:
    """Where it is in PATH (a name with a slash: itself); "" when it is not."""
    if "/" in program:
        return program if Path(program).exists() else ""
    return shutil.which(program, path=path) or ""


def missing(requirements: Iterable[Requirement], path: str = PATH) -> tuple[Requirement, ...]:
    return tuple(needed for needed in requirements if not find(needed.shown_by, path))


def missing_packages(arch: str = "um") -> tuple[str, ...]:
    """The names of the packages that the build of a kernel lacks here."""
    return tuple(needed.package for needed in missing(required(arch)))
