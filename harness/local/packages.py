"""
Which Debian packages a command needs, which of them are missing, and the line that installs them.

In:       the words of a command line.
Out:      needed_by() it; missing() ones; install_line(); find() a program as an ordinary user would not.
Not here: running that line (door.py), the packages of a kernel build (kernel/packages.py).

Only the standard library, and little of it: the one command reads this before its virtual environment
exists, and at every start.
"""

import contextlib
import fnmatch
import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.local.root import ROOT
from kernel import packages as kernel_packages
from kernel.packages import Requirement

AGENT = (
    Requirement("gcc", "gcc", "compiles the agent"),
    Requirement("libc6-dev", "/usr/include/stdio.h", "links the agent of the guests, a static program"),
    Requirement("util-linux", "taskset", "pins a guest to a processor"),
    Requirement("util-linux", "setpriv", "ends a build when powercut is killed"),
)
# For a machine of aarch64 that is reached by ssh. A command line does not say of which kind a machine is: the
# packages are asked for where the agent is compiled (harness/guests/agent_binary.py).
_LIBC_AARCH64 = Requirement(
    "libc6-dev-arm64-cross",
    "/usr/aarch64-linux-gnu/lib/libc.a",
    "links the agent for aarch64, a static program",
)
AGENT_AARCH64 = (
    Requirement("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "compiles the agent for aarch64"),
    # A machine that is itself of aarch64 has it with AGENT's libc6-dev.
    *(() if os.uname().machine == "aarch64" else (_LIBC_AARCH64,)),
)
# By the first word of a profile's name, which is its filesystem.
FILESYSTEMS = {
    "btrfs": (
        Requirement("btrfs-progs", "mkfs.btrfs", "makes btrfs"),
        Requirement("btrfs-progs", "btrfs", "checks btrfs"),
    ),
    "ext4": (
        Requirement("e2fsprogs", "mkfs.ext4", "makes ext4"),
        Requirement("e2fsprogs", "e2fsck", "checks ext4"),
    ),
    "xfs": (
        Requirement("xfsprogs", "mkfs.xfs", "makes xfs"),
        Requirement("xfsprogs", "xfs_repair", "checks xfs"),
    ),
    "f2fs": (
        Requirement("f2fs-tools", "mkfs.f2fs", "makes f2fs"),
        Requirement("f2fs-tools", "fsck.f2fs", "checks f2fs"),
    ),
    "nilfs2": (Requirement("nilfs-tools", "mkfs.nilfs2", "makes nilfs2"),),
}
# For --guest qemu alone.
QEMU = (
    Requirement("qemu-system-x86", "qemu-system-x86_64", "runs guests of kind qemu"),
    Requirement("libelf-dev", "/usr/include/libelf.h", "x86_64's objtool"),
)
# For --guest qemu-aarch64 alone.
QEMU_AARCH64 = (
    Requirement("qemu-system-arm", "qemu-system-aarch64", "runs guests of kind qemu-aarch64"),
    *kernel_packages.CROSS_PACKAGES["arm64"],
    *AGENT_AARCH64,
)
# By the word after --guest, and by that after --arch.
OF_GUEST = {"qemu": QEMU, "qemu-aarch64": QEMU_AARCH64}
OF_ARCH = {"x86_64": QEMU, "arm64": QEMU_AARCH64}
SSH = Requirement("openssh-client", "ssh", "reaches machines")
# For the tests with a machine that is only reached by ssh.
MACHINE = (
    *QEMU,
    Requirement("qemu-utils", "qemu-img", "each machine has a disk of its own above the image"),
    Requirement("mmdebstrap", "mmdebstrap", "makes the Debian of the machine"),
    SSH,
)
# For export alone: the guest that tries a program has the programs of the host.
EXPORT = (
    Requirement("dmsetup", "dmsetup", "exported programs simulate the power failure with it"),
    Requirement("xfsprogs", "xfs_io", "exported programs write and sync with it"),
    Requirement("attr", "setfattr", "exported programs set attributes with it"),
    Requirement("acl", "setfacl", "exported programs set access control lists with it"),
)
# For fstests alone: what ./check and most tests of the crash groups call. Without the others a test says
# notrun.
FSTESTS = (
    Requirement("acl", "setfacl", "fstests sets access control lists with it"),
    Requirement("attr", "setfattr", "fstests sets attributes with it"),
    Requirement("bc", "bc", "fstests counts with it"),
    Requirement("dmsetup", "dmsetup", "fstests simulates the power failure with it"),
    Requirement("fio", "fio", "fstests writes with it"),
    Requirement("gawk", "gawk", "fstests reads tables with it"),
    Requirement("perl", "perl", "fstests reads texts with it"),
    Requirement("quota", "quota", "fstests sets quotas with it"),
    Requirement("xfsprogs", "xfs_io", "fstests writes and syncs with it"),
)
BROWSER = (
    Requirement("chromium", "chromium", "the tests load the report in a real browser"),
    Requirement("chromium-driver", "chromedriver", "lets the tests steer that browser"),
)
SHELLS = (
    Requirement("zsh", "zsh", "the tests complete words in it"),
    Requirement("fish", "fish", "the tests complete words in it"),
    Requirement("man-db", "man", "the tests look at the manual page"),
)
PERF_LIBRARY = ROOT / "workloads" / "perf" / "library"
PROGRAM_LIBRARY = ROOT / "workloads" / "programs"
PROGRAMS = "programs/"  # workloads/programs.py
# For compare --perf, beside what the experiments themselves name.
PERF = Requirement("linux-perf", "perf", "samples where the kernel of a guest spends its time")
BENCH = Requirement("sqlite3", "sqlite3", "its inserts show what the tracer costs")
# By the marker of a suite's tests.
MARKED = {"qemu": QEMU, "host": MACHINE, "minimize": EXPORT, "install": SHELLS}
DEFAULT_PROFILES = "btrfs"
BENCH_PROFILES = "btrfs,ext4,xfs"
GUEST_COMMANDS = ("run", "bench", "repro", "minimize", "export", "compare", "explore", "bisect")
# Of `test --only`: reading and typing need no package.
PLAIN_STEPS = ("lint", "types")


def for_guests(profiles: Iterable[str]) -> tuple[Requirement, ...]:
    """To build a kernel and the agent, and to make and check these profiles."""
    requirements = [*kernel_packages.REQUIRED_PACKAGES, *AGENT]
    for profile in profiles:
        requirements += FILESYSTEMS.get(profile.split("-")[0], ())
    return tuple(requirements)


def for_tests() -> tuple[Requirement, ...]:
    return (*for_guests(FILESYSTEMS), *BROWSER)


def needed_by(arguments: Sequence[str]) -> tuple[Requirement, ...]:
    """What a command line needs. An unknown profile needs nothing: that it is unknown is said later."""
    if {"-h", "--help"} & set(arguments):
        return ()
    first = command(arguments)
    if first in GUEST_COMMANDS:
        default = BENCH_PROFILES if first == "bench" else DEFAULT_PROFILES
        needed = for_guests((option(arguments, "--fs") or default).split(","))
        needed += EXPORT if first == "export" else ()
        needed += (BENCH,) if first == "bench" else ()
        needed += OF_GUEST.get(option(arguments, "--guest"), ())
        needed += for_programs(arguments)
        return (*needed, *(for_perf(arguments) if "--perf" in arguments else ()))
    if first == "fstests":
        return (*for_guests((option(arguments, "--fs") or DEFAULT_PROFILES).split(",")), *FSTESTS)
    if first == "campaign":
        return for_campaign(arguments)
    if first == "host":
        return (*(AGENT if {"claim", "release"} & set(arguments) else ()), SSH)
    if first == "kernel" and {"build", "show"} & set(arguments):
        return (*kernel_packages.REQUIRED_PACKAGES, *OF_ARCH.get(option(arguments, "--arch"), ()))
    if first == "test" and not only_plain_steps(arguments):
        marker = option(arguments, "-m")
        beside = for_perf(["--perf"]) if marker == "perf" else MARKED.get(marker, ())
        return (*for_tests(), *beside)
    return ()


def for_campaign(arguments: Sequence[str]) -> tuple[Requirement, ...]:
    """To start one, what its file names. A worker may lack tools of some profiles, and says so itself."""
    import tomllib  # noqa: PLC0415  only here

    if "worker" in arguments:
        return AGENT
    for word in arguments if {"start", "resume"} & set(arguments) else ():
        with contextlib.suppress(OSError, ValueError, TypeError):
            profiles = tomllib.loads(Path(word).read_text()).get("profiles", [DEFAULT_PROFILES])
            return for_guests(f"{one}" for one in profiles)
    return ()


def for_perf(arguments: Sequence[str]) -> tuple[Requirement, ...]:
    """What the experiments named behind --perf need, all of the library's when none is; and mkfs of theirs.
    What a machine runs, it must have itself. A file that cannot be read needs nothing: that it cannot is said
    later."""
    import tomllib  # noqa: PLC0415  only here

    after = arguments[arguments.index("--perf") + 1 :]
    words = list(itertools.takewhile(lambda word: not word.startswith("-"), after))
    places = [
        Path(word) if word.endswith(".toml") else PERF_LIBRARY / f"{word.partition(':')[0]}.toml"
        for word in words
    ]
    here = option(arguments, "--guest") in (None, "", "uml")
    found: list[Requirement] = [PERF] if here else []
    for place in places or sorted(PERF_LIBRARY.glob("*.toml")):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            content = tomllib.loads(place.read_text())
            found += FILESYSTEMS.get(content.get("filesystem", ""), ())
            needs = content.get("needs", {}).items() if here else ()
            found += [
                Requirement(package, program, f"the experiment {place.stem}") for program, package in needs
            ]
    return tuple(found)


def for_programs(words: Iterable[str]) -> tuple[Requirement, ...]:
    """What the programs among these words run. A file that cannot be read needs nothing: that it cannot is
    said later."""
    import tomllib  # noqa: PLC0415  only here

    found: list[Requirement] = []
    for word in words:
        if not word.startswith(PROGRAMS) and not word.endswith(".toml"):
            continue
        for place in program_files(word):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                needs = tomllib.loads(place.read_text()).get("needs", {}).items()
                found += [Requirement(package, name, f"the program {place.stem}") for name, package in needs]
    return tuple(found)


def program_files(word: str) -> list[Path]:
    """Of the library those that may mean it: NAME.toml has the programs NAME or NAME-VARIANT."""
    if not word.startswith(PROGRAMS):
        return [Path(word)]
    wanted = word.removeprefix(PROGRAMS)
    return [
        place
        for place in sorted(PROGRAM_LIBRARY.glob("*.toml"))
        if fnmatch.fnmatchcase(place.stem, wanted)
        or wanted.startswith(f"{place.stem}-")
        or fnmatch.fnmatchcase(f"{place.stem}-", wanted)
    ]


def only_plain_steps(arguments: Sequence[str]) -> bool:
    steps = option(arguments, "--only")
    return bool(steps) and set(steps.split(",")) <= set(PLAIN_STEPS)


def command(arguments: Sequence[str]) -> str:
    """The first word that is no option."""
    return next((word for word in arguments if not word.startswith("-")), "")


def option(arguments: Sequence[str], name: str) -> str:
    """The value of `--name VALUE` or `--name=VALUE`, "" when it is not there."""
    for index, word in enumerate(arguments):
        if word == name and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith(name + "="):
            return word.removeprefix(name + "=")
    return ""


def search_path() -> str:
    """PATH with the folders of mkfs and fsck, which Debian leaves out for ordinary users."""
    folders = os.environ.get("PATH", os.defpath).split(":")
    return ":".join([*folders, *(folder for folder in ("/usr/sbin", "/sbin") if folder not in folders)])


def find(program: str) -> str:
    """Its path, "" when it is not installed."""
    return kernel_packages.find(program, search_path())


def missing(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return kernel_packages.missing(requirements, search_path())


def names(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """Package names, each once, in the order given."""
    return tuple(dict.fromkeys(requirement.package for requirement in requirements))


def install_line(requirements: Iterable[Requirement]) -> str:
    return "apt-get install --no-install-recommends " + " ".join(names(requirements))


def is_debian() -> bool:
    """Or a system made from it."""
    return bool(find("apt-get")) and os.access("/etc/debian_version", os.R_OK)


def complaint(lacking: Sequence[Requirement], debian: bool) -> str:
    """All that is missing at once, and the fix."""
    width = max(len(requirement.package) for requirement in lacking)
    if debian:
        first_of = {requirement.package: requirement for requirement in reversed(lacking)}
        lines = [f"  {name:{width}}  {first_of[name].why}" for name in names(lacking)]
        return "\n".join(
            [
                "Debian packages are missing:",
                *lines,
                "Install them as root, or add --yes to let powercut install them with sudo:",
                "  " + install_line(lacking),
            ]
        )
    return "\n".join(
        [
            ("programs or files are missing (in parentheses, the Debian package that contains them):"),
            *(f"  {needed.shown_by} ({needed.package}): {needed.why}" for needed in lacking),
        ]
    )
