"""
The agent of each architecture, run on this machine: that of aarch64 by QEMU in user mode.

In:       an architecture.
Out:      words_of(): what starts its agent here; require(): a skip with all that is missing; loops_work().
Not here: the tests; an aarch64 machine, which none of them has.

QEMU translates the program's instructions, and its system calls into those of the kernel that runs here. That
shows whether the agent's own code is right for aarch64: layouts of structures, the sign of char, flags of
open(2), frames, requests of ioctl(2). It does not show what an aarch64 kernel does: pages of 16 or 64 KiB,
device mapper, loading of modules, the filesystems under test, a panic. QEMU answers ENOTTY to a request of
ioctl(2) that it does not know.
"""

import os
import shutil

import pytest

from harness.guests.agent_binary import OURS, agent_binary
from harness.local.packages import AGENT_AARCH64, install_line, missing
from kernel.kernel import MachineArch
from kernel.packages import Requirement

QEMU = "qemu-aarch64-static"
EMULATOR = Requirement("qemu-user-static", QEMU, "runs the agent for aarch64")


def emulator_of(architecture: MachineArch) -> list[str]:
    return [] if architecture == OURS else [shutil.which(QEMU) or QEMU]


def require(architecture: MachineArch) -> None:
    if architecture != OURS and (lacking := missing((*AGENT_AARCH64, EMULATOR))):
        pytest.skip(f"the agent for {architecture} cannot be tried: {install_line(lacking)}")


def words_of(architecture: MachineArch) -> list[str]:
    """Of its process."""
    require(architecture)
    return [*emulator_of(architecture), str(agent_binary(architecture))]


def loops_work() -> bool:
    return os.geteuid() == 0 and os.access("/dev/loop-control", os.W_OK) and bool(shutil.which("losetup"))
