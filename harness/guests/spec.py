"""
What a guest is made of, whatever kind it is.

In:       nothing.
Out:      GuestSpec; Backend and Channel, which each kind fills in; the sizes and names that all kinds share.
Not here: the kinds (uml.py, qemu.py), a running guest (interface.py).

Devices: the recorded disk, its log, the inbox (host to guest), the outbox (guest to host), in this order; of
a guest on this machine each is a file on tmpfs. Commands and answers are lines on a channel of their own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernel.kernel import Arch, MachineArch

DISK, LOG, INBOX, OUTBOX = "disk", "log", "inbox", "outbox"  # the devices
FILES = "experiment"  # in the guest's root: what GuestSpec.files names

UML, QEMU_TCG, QEMU_KVM = "uml", "qemu-tcg", "qemu-kvm"
AARCH64_TCG, AARCH64_KVM = "qemu-aarch64-tcg", "qemu-aarch64-kvm"
SSH = "ssh"  # a machine of the user's; which one is a part of the kind, "ssh:NAME"
KINDS = (UML, QEMU_TCG, QEMU_KVM, AARCH64_TCG, AARCH64_KVM, SSH)
QEMU, QEMU_AARCH64 = "qemu", "qemu-aarch64"  # what a user asks for: the accelerator is found out
# The kinds of each, emulated and by KVM.
ACCELERATED = {QEMU: (QEMU_TCG, QEMU_KVM), QEMU_AARCH64: (AARCH64_TCG, AARCH64_KVM)}
EMULATED = tuple(emulated for emulated, _ in ACCELERATED.values())
AARCH64 = (QEMU_AARCH64, *ACCELERATED[QEMU_AARCH64])

INBOX_BYTES = 32 << 20
OUTBOX_BYTES = 256 << 20  # sixteen answers under way; what is not written takes no room
LOG_BYTES = 64 << 20  # unless --log-size says more
MEMORY_MIB = 512
CPUS_MAX = 8  # kernel/config/smp.config
LINE_BYTES = 1 << 20  # answers that wait for us: pipe-max-size of proc(5)
# Saves the delay calibration at boot; any value does, since no driver here waits in delay loops.
LOOPS_PER_JIFFY = 30_000_000

# How much longer than UML a kind may take for the same before it counts as hung. Of an emulated processor
# this is what is left of it beside other busy guests.
PATIENCE = {UML: 1.0, QEMU_TCG: 4.0, QEMU_KVM: 1.0, AARCH64_TCG: 4.0, AARCH64_KVM: 1.0, SSH: 4.0}
# How much more memory than UML a kind gets: in pages of 64 KiB the same data take more.
MEMORY_TIMES = dict.fromkeys(AARCH64, 2)


def memory_for(held_bytes: int) -> int:
    """Of a guest, in MiB, whose disks come to hold so much data. Its RAM disk (brd) takes pages of the guest
    for what is written to it; a profile's disk has few MiB, which MEMORY_MIB has room for."""
    held_mib = held_bytes >> 20
    return MEMORY_MIB + max(0, 2 * held_mib - MEMORY_MIB // 4)


def family(kind: str) -> str:
    """Of KINDS. kind: as a GuestSpec has it."""
    return kind.partition(":")[0]


def host_of(kind: str) -> str:
    """The name of the machine, "" for a guest on this one."""
    return kind.partition(":")[2]


def wanted_of(kind: str) -> str:
    """What the user asks for to get this kind again: the accelerator of QEMU is found out anew."""
    return next((wanted for wanted, kinds in ACCELERATED.items() if kind in kinds), kind)


def arch_of(kind: str) -> Arch:
    """What its kernels are built for. kind: of KINDS, or of ACCELERATED while its accelerator is not
    settled."""
    if kind == UML:
        return "um"
    return "arm64" if kind in AARCH64 else "x86_64"


def machine_of(kind: str) -> MachineArch:
    """What its agent is compiled for, of a guest on this machine. kind: as of arch_of()."""
    return "aarch64" if kind in AARCH64 else "x86_64"


class GuestSpec(msgspec.Struct, frozen=True):
    """What a guest is made of. processor: the host processor to pin it to, None for one
    that few other guests have (local/processors.py). kind: of KINDS; of a machine "ssh:NAME".
    cpus: its processors while it records; where there are several, what it recovers in has one (guest.py).
    memory_mib: what it has for itself where pages have 4 KiB; its disks are beside. programs: whether it may
    be asked for the host's own programs, files: what comes with them, of this machine, put below FILES in the
    guest's root; neither of QEMU's guests."""

    kernel: Path
    agent: Path
    device_bytes: int
    log_bytes: int
    processor: int | None = None
    kind: str = UML
    cpus: int = 1
    memory_mib: int = MEMORY_MIB
    programs: bool = False
    files: tuple[Path, ...] = ()

    @property
    def given_mib(self) -> int:
        """The memory that a guest of this kind gets."""
        return self.memory_mib * MEMORY_TIMES.get(self.kind, 1)

    def devices(self) -> tuple[tuple[str, int], ...]:
        """Name and size of each block device, in the guest's order."""
        return (
            (DISK, self.device_bytes),
            (LOG, self.log_bytes),
            (INBOX, INBOX_BYTES),
            (OUTBOX, OUTBOX_BYTES),
        )


class Channel(NamedTuple):
    """The channel of commands and answers, as descriptors; theirs go to the guest's process."""

    to_guest: int
    from_guest: int
    theirs: tuple[int, ...]


class Backend(NamedTuple):
    """How a kind is started that is a program of this machine.

    prepare(spec, folder) makes what it boots from; channel() opens its channel; command(spec, folder, theirs)
    is what to run. nudge: the channel may need one to be seen (local.py).
    """

    prepare: Callable[[GuestSpec, Path], None]
    channel: Callable[[], Channel]
    command: Callable[[GuestSpec, Path, tuple[int, ...]], list[str]]
    nudge: bool
