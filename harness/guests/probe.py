"""
Which guests start here, and which one a run gets.

In:       what the user asked for, a kernel to try with.
Out:      prefer() before kernels are built, accelerated() after; boots() and kvm() with what was seen.
Not here: showing it (doctor.py), starting a guest (guest.py).

That a file or a program is there decides nothing: /dev/kvm may exist and its guests hang. So a guest is
booted, with a deadline. What came of KVM is remembered until the machine boots again.
"""

import contextlib
import os
import platform
import shutil
from pathlib import Path

import msgspec
from filelock import FileLock

from harness.guests.agent_binary import AgentError, agent_binary
from harness.guests.guest import BOOT_TIMEOUT_S, GuestSpec, GuestTrouble, LostGuest, boot
from harness.guests.qemu import BOARDS
from harness.guests.spec import ACCELERATED, QEMU, QEMU_KVM, UML, machine_of
from harness.guests.words import AUTO
from harness.local import packages
from harness.local.progress import Progress
from harness.local.workspace import workspace
from kernel import cache
from kernel.build import build
from kernel.kernel import BuildFailed, Kernel

KVM = Path("/dev/kvm")
KVM_DEADLINE_S = 10.0  # a guest under KVM is ready in less than one
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # proc(5): another one after each boot of the machine
DEVICE_BYTES = 64 << 20  # of the guest that is only booted


class NoGuest(Exception):
    """No guest starts here; the message says why, of each kind."""


class Remembered(msgspec.Struct, frozen=True):
    """What came of booting under KVM. machine: this boot of it, and this QEMU."""

    machine: str
    works: bool
    said: str


def prefer(wanted: str, word: str, config: tuple[str, ...], progress: Progress) -> str:
    """
    wanted: of words.WANTED, or a kind as a run names it; only "auto" is decided here, by this kernel spec:
    UML wherever it starts, for it is faster than an emulator and needs no other program.
    Errors: NoGuest, AgentError.
    """
    if wanted != AUTO:
        return wanted
    try:
        ok, said = boots(Path(build(word, progress.building(word, config), config).path), UML)
    except BuildFailed as error:
        ok, said = False, str(error)
    if ok:
        return UML
    if lacking := packages.missing(packages.QEMU):
        raise NoGuest(
            f"User Mode Linux does not work: {said}. QEMU is not installed: {packages.install_line(lacking)}"
        )
    progress.line(f"User Mode Linux does not work: {said}. Using QEMU")
    return QEMU


def accelerated(wanted: str, kernel: Kernel) -> str:
    """The kind: of QEMU with KVM only where a guest has booted with it."""
    if wanted not in ACCELERATED:
        return wanted
    emulated, by_kvm = ACCELERATED[wanted]
    return by_kvm if kvm(Path(kernel.path), by_kvm)[0] else emulated


def boots(kernel: Path, kind: str, timeout_s: float = BOOT_TIMEOUT_S) -> tuple[bool, str]:
    """Whether a guest of this kernel really starts and answers; and what was seen. Leaves nothing."""
    try:
        spec = GuestSpec(kernel, agent_binary(), DEVICE_BYTES, DEVICE_BYTES, kind=kind)
        with workspace() as space, boot(spec, space, timeout_s):
            return True, "boots and answers"
    except (AgentError, LostGuest, GuestTrouble, OSError) as error:
        return False, str(error)


def kvm_is_out(kind: str = QEMU_KVM) -> str:
    """Why no guest need be booted to know that KVM does not work, "" when one must."""
    here, wanted = platform.machine(), machine_of(kind)
    if here != wanted:
        return f"this machine is {here}, which runs no {wanted} by KVM"
    if not KVM.exists():
        return f"{KVM} does not exist"
    return "" if os.access(KVM, os.R_OK | os.W_OK) else f"no permission for {KVM}"


def kvm(kernel: Path, kind: str = QEMU_KVM, again: bool = False) -> tuple[bool, str]:
    """Whether guests of this kind run here, and what was seen. again: even if it is remembered. One kind
    alone is of this machine's architecture."""
    if out := kvm_is_out(kind):
        return False, out
    place = cache.root() / "kvm.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_suffix(".lock")):  # two runs at once try it once
        machine = _machine(kind)
        known = None if again else _remembered(place, machine)
        if known is None:
            known = Remembered(machine, *boots(kernel, kind, KVM_DEADLINE_S))
            partial = place.with_suffix(".partial")
            partial.write_bytes(msgspec.json.encode(known))
            partial.replace(place)
    return known.works, known.said


def _remembered(place: Path, machine: str) -> Remembered | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        known = msgspec.json.decode(place.read_bytes(), type=Remembered)
        return known if known.machine == machine else None
    return None


def _machine(kind: str) -> str:
    """An upgrade of QEMU is worth another try."""
    program = shutil.which(BOARDS[kind][0].program)
    made = Path(program).stat().st_mtime_ns if program else 0
    return f"{BOOT_ID.read_text().strip()} {made}"
