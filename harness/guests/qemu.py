"""
A guest as a machine in QEMU: x86_64 on "microvm", aarch64 on "virt", emulated (TCG) or by KVM.

In:       a GuestSpec, a folder with its devices' files.
Out:      BACKEND: its initramfs, its channel, its command line.
Not here: starting it and talking with it (local.py), whether KVM works here (probe.py).

The disks are virtio with a write-back cache: the host's page cache, so that guest and host see the same
bytes of the inbox and the outbox at any time. Each has one request under way at a time. With more, QEMU
tells of those that ended together from the last to the first (util/thread-pool.c,
thread_pool_completion_bh()), and the same workload gave another order in its log from run to run; so they
end in the order of submission, as with UML's ubd. Commands and answers are lines on a port of virtio-serial.
"""

import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harness.guests.agent_binary import OURS, agent_of
from harness.guests.spec import (
    AARCH64_KVM,
    AARCH64_TCG,
    LOOPS_PER_JIFFY,
    QEMU_KVM,
    QEMU_TCG,
    Backend,
    Channel,
    GuestSpec,
    machine_of,
)

INITRAMFS = "initramfs"
DIRECTORY, CHARACTER_DEVICE, REGULAR = 0o040755, 0o020600, 0o100755  # inode(7)
CONSOLE = (5, 1)  # Documentation/admin-guide/devices.txt: /dev/console
FIELDS = 13  # of eight hexadecimal digits, behind the magic: Documentation/driver-api/early-userspace
TRAILER = "TRAILER!!!"


class Board(NamedTuple):
    """program: QEMU for its architecture. machine: for -machine. bus: of a device, by its number, where QEMU
    would not take them in order. kernel_words: of its kernels alone, beside what kernel_words() has for all.
    clock: whether its kernels read the time of day from it."""

    program: str
    machine: str
    bus: str
    kernel_words: tuple[str, ...]
    clock: bool


X86_64 = Board(
    "qemu-system-x86_64",
    "microvm,acpi=off,x-option-roms=off,isa-serial=on",
    "",
    # By a triple fault: the machine has neither keyboard controller nor ACPI.
    ("console=ttyS0", "reboot=t"),
    clock=True,
)
AARCH64 = Board(
    "qemu-system-aarch64",
    "virt,gic-version=3",
    # Else the first device comes onto the last bus, and the kernel finds it last.
    ",bus=virtio-mmio-bus.{}",
    # Its kernels have SMP always: a grace period takes less than a tick, and mounts and tables wait for many.
    ("console=ttyAMA0", "rcupdate.rcu_expedited=1"),
    # A driver could (CONFIG_RTC_DRV_PL031), which nothing else asks for.
    clock=False,
)
# Emulated, the plainest processor is the fastest: a state costs it a third less than "max" (btrfs 30 ms of
# processor time instead of 45), whose AVX registers each switch saves.
BOARDS: dict[str, tuple[Board, tuple[str, ...]]] = {
    QEMU_TCG: (X86_64, ("-accel", "tcg", "-cpu", "qemu64")),
    QEMU_KVM: (X86_64, ("-accel", "kvm", "-cpu", "host")),
    AARCH64_TCG: (AARCH64, ("-accel", "tcg", "-cpu", "cortex-a57")),
    AARCH64_KVM: (AARCH64, ("-accel", "kvm", "-cpu", "host")),
}


def prepare(spec: GuestSpec, folder: Path) -> None:
    """The guest's root, in memory: the agent and empty mount points, nothing of the host. Errors: AgentError,
    OSError."""
    assert not spec.files, (
        "they are only for scripts that need the programs of the host, which guests in QEMU do not have"
    )
    architecture = machine_of(spec.kind)
    agent = spec.agent if architecture == OURS else agent_of(spec.agent.name, architecture)
    (folder / INITRAMFS).write_bytes(archive(agent.read_bytes()))


def archive(init: bytes) -> bytes:
    """An initramfs with this program as its only one: cpio of the format "newc", not compressed."""
    entries: list[tuple[str, int, tuple[int, int], bytes]] = [
        *((name, DIRECTORY, (0, 0), b"") for name in ("dev", "proc", "sys", "mnt")),
        ("dev/console", CHARACTER_DEVICE, CONSOLE, b""),
        ("init", REGULAR, (0, 0), init),
        (TRAILER, 0, (0, 0), b""),
    ]
    return b"".join(_entry(number, *entry) for number, entry in enumerate(entries, 1))


def _entry(inode: int, name: str, mode: int, device: tuple[int, int], content: bytes) -> bytes:
    """Name and content each end at a multiple of four bytes; the name with a zero."""
    raw_name = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(raw_name), 0)
    assert len(fields) == FIELDS
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + raw_name
    return _padded(head) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)


def channel() -> Channel:
    ours, theirs = socket.socketpair()
    to_guest = ours.detach()
    return Channel(to_guest, os.dup(to_guest), (theirs.detach(),))


def command(spec: GuestSpec, folder: Path, theirs: tuple[int, ...]) -> list[str]:
    """Ends by itself when its kernel panics or reboots."""
    board, processor = BOARDS[spec.kind]
    return [
        board.program,
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        *("-display", "none"),
        *("-machine", board.machine),
        *processor,
        *("-m", str(spec.given_mib)),
        *("-smp", str(spec.cpus)),
        *("-kernel", str(spec.kernel)),
        *("-initrd", str(folder / INITRAMFS)),
        *("-append", " ".join(kernel_words(spec))),
        *("-chardev", "stdio,id=console,signal=off"),
        *("-serial", "chardev:console"),
        *("-chardev", f"socket,id=line,fd={theirs[0]}"),
        *("-device", "virtio-serial-device" + board.bus.format(0)),
        *("-device", "virtserialport,chardev=line"),
        *_disks(folder, (name for name, _ in spec.devices()), board),
    ]


def kernel_words(spec: GuestSpec) -> list[str]:
    """What it does not know itself it hands to the agent as environment."""
    board, _ = BOARDS[spec.kind]
    return [
        *board.kernel_words,
        *(() if board.clock else (f"POWERCUT_TIME={int(time.time())}",)),
        "quiet",
        f"lpj={LOOPS_PER_JIFFY}",
        "oops=panic",
        "panic=-1",
        "rdinit=/init",
        "brd.rd_nr=3",
        f"brd.rd_size={spec.device_bytes >> 10}",
        "virtio_blk.queue_depth=1",
        "POWERCUT_BLOCK=/dev/vd",
        "POWERCUT_LINE=/dev/vport0p1",
    ]


def _disks(folder: Path, names: Iterable[str], board: Board) -> list[str]:
    words = []
    for number, name in enumerate(names, 1):
        path = str(folder / name).replace(",", ",,")  # in an option's value a comma is written twice
        words += [
            "-drive",
            f"if=none,id={name},file={path},format=raw,cache=writeback,discard=unmap,file.locking=off",
            "-device",
            f"virtio-blk-device,drive={name}{board.bus.format(number)}",
        ]
    return words


BACKEND = Backend(prepare, channel, command, nudge=False)
