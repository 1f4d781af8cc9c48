"""
What this machine can do for us, and the fix for each thing that it cannot.

In:       the machine as it is now.
Out:      Check after Check; shown as a table or JSON; 0 when `powercut run` can work here, else 3.
Not here: making it so (door.py does with Debian's packages), testing Powercut itself (test.py).
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.commands.arguments import DEFAULT_KERNEL
from harness.fstests import checkout
from harness.guests.probe import boots, kvm, kvm_is_out
from harness.guests.spec import (
    ACCELERATED,
    INBOX_BYTES,
    MEMORY_MIB,
    OUTBOX_BYTES,
    QEMU,
    QEMU_AARCH64,
    UML,
    arch_of,
    machine_of,
)
from harness.local import packages, version
from harness.local.environment import STAMP
from harness.local.root import IS_CHECKOUT, ROOT
from harness.local.workspace import memory_folder
from harness.runs.run import LOG_BYTES, RESULTS_BYTES
from kernel import archive, build
from kernel.address import SHORT_NAMES, setting
from kernel.cache import root as cache_root
from kernel.kernel import Arch, BadKernel, Kernel
from kernel.packages import Requirement
from kernel.word import RELEASES
from oracles.profiles import PROFILES

CAN, CANNOT = 0, 3
# kernel/release.py, build.py: a source unpacked, its package, one build; and an equal part to spare.
CACHE_BYTES = 4 << 30
CACHE_BYTES_WITH_KERNEL = 600 << 20  # a build with a series beside the one that is there
# A guest's memory, its log and its mailboxes lie there, with two images of the largest profile.
GUEST_BYTES = (
    (MEMORY_MIB << 20)
    + INBOX_BYTES
    + OUTBOX_BYTES
    + LOG_BYTES
    + 2 * max(profile.size_bytes for profile in PROFILES)
)
VERSION_TIMEOUT_S = 10
KVM_FIX = (
    "load the module kvm_intel or kvm_amd, and add this user to the group kvm (adduser "
    "USER kvm). In a virtual machine: have nested virtualisation enabled on its host"
)
MIB = 1 << 20


class Check(msgspec.Struct, frozen=True):
    """
    ok:    True; False when `powercut run` cannot work without it; None when it can, but less well or
           less often, or when nobody knows yet.
    found: what is there. fix: what to do, "" when nothing.
    """

    name: str
    ok: bool | None
    found: str
    fix: str = ""


def doctor(as_json: bool = False, results: Path = Path("results")) -> int:
    """Examine and show. 0 when `powercut run` can work here, else 3."""
    checks = examine(results)
    if as_json:
        answer = {"can_run": can_run(checks), "checks": msgspec.to_builtins(checks)}
        print(json.dumps(answer, indent=2))
    else:
        show(checks)
    return CAN if can_run(checks) else CANNOT


def can_run(checks: Iterable[Check]) -> bool:
    return all(check.ok is not False for check in checks)


def examine(results: Path) -> list[Check]:
    """Every check, in the order in which a reader would ask. results: where runs would be kept."""
    kernel = kernel_to_try("um")
    of_qemu = {wanted: kernel_to_try(arch_of(wanted)) for wanted in ACCELERATED}
    native = QEMU_AARCH64 if platform.machine() == machine_of(QEMU_AARCH64) else QEMU
    return [
        powercut(),
        system(),
        python(),
        debian_packages("packages: run on btrfs", packages.for_guests(("btrfs",)), needed=True),
        debian_packages("packages: ext4", packages.FILESYSTEMS["ext4"], needed=False),
        debian_packages("packages: xfs", packages.FILESYSTEMS["xfs"], needed=False),
        debian_packages("packages: f2fs", packages.FILESYSTEMS["f2fs"], needed=False),
        *tests_packages(),
        *(tool(program, argument) for program, argument in TOOLS),
        kernel_source(),
        other_sources(),
        processors(),
        memory(),
        space("disk: cache", cache_root(), CACHE_BYTES_WITH_KERNEL if kernel else CACHE_BYTES),
        space("disk: results", results.absolute(), RESULTS_BYTES),
        scratch(),
        guest_uml(kernel),
        guest_qemu(of_qemu[QEMU]),
        guest_kvm(of_qemu[native], native),
        guest_qemu(of_qemu[QEMU_AARCH64], QEMU_AARCH64),
        fstests(),
    ]


# What each program is asked for its version.
TOOLS = (
    ("gcc", "--version"),
    ("spatch", "--version"),
    ("mkfs.btrfs", "--version"),
    ("mkfs.ext4", "-V"),
    ("mkfs.xfs", "-V"),
)


def show(checks: Sequence[Check]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "what", "found"):
        table.add_column(heading, overflow="fold")
    words = {True: ("ok", "green"), False: ("NO", "bold red"), None: ("-", "yellow")}
    for check in checks:
        word, style = words[check.ok]
        found = check.found + (f"\nfix: {check.fix}" if check.fix else "")
        table.add_row(Text(word, style), Text(check.name), Text(found))
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    console.print(table)
    console.print(verdict(checks))


def verdict(checks: Iterable[Check]) -> str:
    broken = [check.name for check in checks if check.ok is False]
    return f"powercut run cannot work here: {'; '.join(broken)}" if broken else "powercut run can work here"


# --- the checks ---


def powercut() -> Check:
    """Which Powercut this is; a report of a bug in it begins with that."""
    where = f"checkout {ROOT}" if IS_CHECKOUT else "installed"
    return Check("powercut", True, f"{version.VERSION} ({version.commit()}), {where}")


def system() -> Check:
    found = f"{_os_name()}, Linux {platform.release()}, {platform.machine()}"
    if platform.machine() != "x86_64":
        return Check("system", False, found, "User Mode Linux guests need an x86_64 machine")
    return Check("system", True, found)


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "unknown system (no os-release)"


def python() -> Check:
    found = f"Python {platform.python_version()} in {sys.prefix}"
    if not IS_CHECKOUT or (Path(sys.prefix) / STAMP).exists():
        return Check("python", True, found)
    return Check(
        "python",
        None,
        found + ", not made by ./powercut",
        "start Powercut with ./powercut, which makes a virtual environment",
    )


def debian_packages(name: str, requirements: Sequence[Requirement], needed: bool) -> Check:
    lacking = packages.missing(requirements)
    if not lacking:
        return Check(name, True, "all there: " + " ".join(packages.names(requirements)))
    if packages.is_debian():
        fix = packages.install_line(lacking)
    else:
        fix = "install " + ", ".join(requirement.shown_by for requirement in lacking)
    return Check(name, False if needed else None, "missing: " + " ".join(packages.names(lacking)), fix)


def tests_packages() -> tuple[Check, ...]:
    """An installation has no tests."""
    if not IS_CHECKOUT:
        return ()
    return (debian_packages("packages: the tests", packages.for_tests(), needed=False),)


def tool(program: str, version_argument: str) -> Check:
    """Its version. What is missing is said with the packages, so here it is only noted."""
    path = packages.find(program)
    if not path:
        return Check(program, None, "not installed")
    try:
        done = subprocess.run(
            [path, version_argument],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=VERSION_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(program, None, f"{path} could not be asked for its version: {error}")
    said = (done.stdout + done.stderr).strip().splitlines()
    return Check(program, True, f"{said[0] if said else 'no version'} ({path})")


def kernel_source() -> Check:
    """Whether the default kernel's source can be had without a network, or apt knows where."""
    name, package = "kernel source", f"linux-source-{DEFAULT_KERNEL}"
    if list((cache_root() / "sources").glob(f"{package}_*/linux")):
        return Check(name, True, f"{package} is unpacked in {cache_root()}")
    if list(Path("/usr/src").glob(f"{package}*")):
        return Check(name, True, f"{package} is installed in /usr/src")
    if not packages.find("apt-cache"):
        return Check(
            name, None, "apt is not installed", "use your own source tree: powercut run --kernel PATH"
        )
    if archive.output(["apt-cache", "show", "--no-all-versions", package]).strip():
        return Check(name, True, f"apt offers {package}; it is downloaded when it is first needed")
    unknown = f"apt does not offer {package}"
    if archive.KEYRING.is_file():
        return Check(
            name,
            None,
            f"{unknown}; when it is first needed, Powercut downloads Debian's package lists itself",
        )
    return Check(
        name,
        None if kernel_to_try("um") else False,
        f"{unknown}, and Powercut cannot check package lists of its own without {archive.KEYRING}",
        "apt-get install debian-archive-keyring; or use your own source tree: --kernel PATH",
    )


def other_sources() -> Check:
    """Where the short names lead, and which releases beside the known ones are known here. Nothing is
    fetched; nothing but --kernel depends on it."""
    name, places, wrong = "kernel: other sources", [], []
    for one in SHORT_NAMES:
        try:
            url, folder, _branch = setting(one)
            places.append(f"{one} from {url or folder}")
        except BadKernel as error:
            wrong.append(str(error))
    found, _ = archive.offers(lambda _stage, _fraction: None, refresh=False)
    more = [f"{release} ({offer.version})" for release, offer in found.items() if release not in RELEASES]
    told = "; ".join([*places, *([f"Debian also has {', '.join(more)}"] if more else [])])
    if wrong:
        return Check(name, None, told or "no short name leads anywhere", "; ".join(wrong))
    if not shutil.which("git"):
        fix = "sudo apt-get install git"
        return Check(name, None, "git is not installed, which mainline, linux-next and URLs need", fix)
    return Check(name, True, f"{told}; powercut kernel sources asks Debian for more")


def processors() -> Check:
    usable = sorted(os.sched_getaffinity(0))
    return Check(
        "processors",
        True,
        f"{os.cpu_count()}, of which {len(usable)} are usable (and as many guests run at the same time)",
    )


def memory() -> Check:
    available_bytes = _meminfo_kib("MemAvailable") * 1024
    found = f"{available_bytes // MIB} MiB available, a guest takes up to {GUEST_BYTES // MIB} MiB"
    if available_bytes >= GUEST_BYTES * len(os.sched_getaffinity(0)):
        return Check("memory", True, found)
    if available_bytes >= GUEST_BYTES:
        return Check("memory", None, found, f"powercut run --jobs {available_bytes // GUEST_BYTES}")
    return Check("memory", False, found, "end other programs, or use a machine with more memory")


def _meminfo_kib(key: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return 0


def space(name: str, folder: Path, needed_bytes: int) -> Check:
    """Of a folder that need not exist yet: what counts is the one above it that does."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free_bytes = shutil.disk_usage(there).free
    found = f"{free_bytes // MIB} MiB free in {folder}, {needed_bytes // MIB} MiB needed"
    other = "POWERCUT_CACHE=FOLDER" if "cache" in name else "--out FOLDER"
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(name, False, f"{there} cannot be written", other)
    if free_bytes < needed_bytes:
        return Check(name, False, found, f"free {(needed_bytes - free_bytes) // MIB + 1} MiB, or use {other}")
    return Check(name, True, found)


def scratch() -> Check:
    """Guests and disks live in memory; containers often give /dev/shm 64 MiB, or forbid programs there."""
    folder = memory_folder()
    checked = space("disk: scratch", folder, GUEST_BYTES)
    container = "in a container: podman or docker run --tmpfs /dev/shm:exec,size=4g"
    larger = f"make /dev/shm larger: mount -o remount,size=4g /dev/shm; {container}"
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return Check(
            checked.name, False, f"{folder} is mounted noexec", f"mount -o remount,exec {folder}; {container}"
        )
    if not checked.ok:
        return msgspec.structs.replace(checked, fix=larger)
    if folder != Path("/dev/shm"):
        return Check(
            checked.name, None, f"{checked.found}; /dev/shm cannot be written, so runs are slower", larger
        )
    return checked


def kernel_to_try(arch: Arch) -> Kernel | None:
    """Of those in the cache the default one, which `powercut run` boots; else the one built last."""

    def preference(kernel: Kernel) -> tuple[bool, float]:
        made = kernel.provenance
        default = made.word == DEFAULT_KERNEL and not made.variants
        return default, Path(kernel.path).stat().st_mtime

    kernels = [kernel for kernel in build.built() if kernel.provenance.arch == arch]
    return max(kernels, key=preference, default=None)


def guest_uml(kernel: Kernel | None) -> Check:
    name = "guest: uml"
    if kernel is None:
        return Check(name, None, "not tested, because no kernel is built yet", "powercut kernel build 6.12")
    ok, said = boots(Path(kernel.path), UML)
    said = f"{kernel.provenance.word}: {said}"
    if ok:
        return Check(name, True, said)
    return Check(
        name,
        False,
        said,
        "User Mode Linux needs ptrace and a scratch folder whose files may be executed. "
        "Check /proc/sys/kernel/yama/ptrace_scope (it must not be 3), the seccomp profile of "
        "the container, and noexec on /dev/shm",
    )


def guest_qemu(kernel: Kernel | None, wanted: str = QEMU) -> Check:
    """Nothing depends on it but --guest, with this word. wanted: of ACCELERATED."""
    name = f"guest: {wanted}"
    if lacking := packages.missing(packages.OF_GUEST[wanted]):
        return Check(
            name,
            None,
            f"only for --guest {wanted}; missing: " + " ".join(packages.names(lacking)),
            packages.install_line(lacking),
        )
    if kernel is None:
        return Check(
            name,
            None,
            "not tested, because no kernel is built for it yet",
            f"powercut kernel build {DEFAULT_KERNEL} --arch {arch_of(wanted)}",
        )
    ok, said = boots(Path(kernel.path), ACCELERATED[wanted][0])
    return Check(name, ok or None, f"{kernel.provenance.word}: {said}, emulated (TCG)")


def guest_kvm(kernel: Kernel | None, wanted: str = QEMU) -> Check:
    """That the file is there decides nothing: a guest is booted, with a deadline. wanted: that of this
    machine's architecture."""
    name, kind = f"guest: {wanted}, kvm", ACCELERATED[wanted][1]
    if out := kvm_is_out(kind):
        return Check(name, None, f"{out}; guests in QEMU are emulated, several times slower", KVM_FIX)
    if kernel is None or packages.missing(packages.OF_GUEST[wanted]):
        return Check(name, None, "not tested, because no kernel can be booted in QEMU yet")
    works, said = kvm(Path(kernel.path), kind, again=True)
    if works:
        return Check(name, True, f"{kernel.provenance.word}: {said}")
    return Check(
        name,
        None,
        f"does not work, so guests in QEMU are emulated, several times slower: {said}",
        "in a virtual machine: have working nested virtualisation enabled on its host",
    )


def fstests() -> Check:
    """Nothing depends on it but `powercut fstests`."""
    name, place = "fstests", os.environ.get(checkout.VARIABLE, "")
    if not place:
        return Check(name, None, f"only for powercut fstests; {checkout.VARIABLE} is not set")
    if words := checkout.lack(Path(place)):
        return Check(name, None, f"{place}: {words}", f"set {checkout.VARIABLE} to a built checkout")
    found = f"{place}, version {checkout.version(Path(place))}, is built"
    if lacking := packages.missing(packages.FSTESTS):
        return Check(
            name,
            None,
            found + "; missing: " + " ".join(packages.names(lacking)),
            packages.install_line(lacking),
        )
    return Check(name, True, found)
