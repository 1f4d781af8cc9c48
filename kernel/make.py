"""
Run the kernel's own tools: configure a tree and compile it, for User Mode Linux or a machine.

In:       a source tree that is ours alone.
Out:      the kernel (image()), .config and System.map in its OBJECTS directory; the log of make;
          progress by line.
Not here: where the tree came from (source.py), what is kept of it (build.py).

The objects lie in a directory directly inside the tree: kbuild then writes ".." for the source in every
saved command (Makefile: srctree := ..), so that tree and objects can be copied to another place and
make compiles only what changed there.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from kernel.fragments import renamed, requests
from kernel.kernel import Arch, BuildFailed
from kernel.packages import PATH, missing_packages

OBJECTS = "obj.powercut"
# What make is asked for, which is the kernel's name with us, and where in OBJECTS it then lies.
IMAGES: dict[str, tuple[str, str]] = {
    "um": ("linux", "linux"),
    "x86_64": ("vmlinux", "vmlinux"),  # uncompressed: an emulator need not unpack it at boot
    "arm64": ("Image", "arch/arm64/boot/Image"),  # neither; of ELF files QEMU passes no device tree
}
# What the names of an architecture's tools begin with. A machine of aarch64 has its own by these names, too.
CROSS_COMPILE: dict[str, str] = {"arm64": "aarch64-linux-gnu-"}


def environment(arch: Arch = "um") -> dict[str, str]:
    """All that the build sees: nothing of the user's ARCH, CROSS_COMPILE, KBUILD_*, MAKEFLAGS or LDFLAGS.

    The KBUILD_BUILD_* make equal input give an equal kernel (Documentation/kbuild/reproducible-builds.rst).
    LOCALVERSION, though empty, keeps setlocalversion from asking a git repository around us.
    """
    fixed = {
        "PATH": PATH,
        "LC_ALL": "C",
        "ARCH": arch,
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_USER": "powercut",
        "KBUILD_BUILD_HOST": "powercut",
        "KBUILD_BUILD_VERSION": "1",
        "LOCALVERSION": "",
    }
    if arch in CROSS_COMPILE:
        fixed["CROSS_COMPILE"] = CROSS_COMPILE[arch]
    return fixed | {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}


def compiler(arch: Arch = "um") -> str:
    """The first line of gcc --version."""
    program = f"{CROSS_COMPILE.get(arch, '')}gcc"
    try:
        done = subprocess.run(
            [program, "--version"], env=environment(), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildFailed(
            f"there is no compiler: {program} --version failed ({error}). Install it: sudo apt-get "
            f"install {' '.join(missing_packages(arch))}"
        ) from error
    return done.stdout.splitlines()[0]


def image(tree: Path, arch: Arch) -> Path:
    """The kernel that was compiled in the tree."""
    return tree / OBJECTS / IMAGES[arch][1]


def configure(tree: Path, fragments: tuple[Path, ...], log: Path, arch: Arch = "um") -> str:
    """allnoconfig with the fragments over it; returns the text of the .config."""
    script = tree / "scripts/kconfig/merge_config.sh"
    if not script.is_file():
        raise BuildFailed(f"{tree} cannot be configured, because it has no scripts/kconfig/merge_config.sh")
    copies = tree / OBJECTS / "fragments"  # merge_config.sh cannot take names with blanks
    copies.mkdir(parents=True, exist_ok=True)
    names = [str(shutil.copy(fragment, copies / fragment.name)) for fragment in fragments]
    if newer := renamed(requests(fragments)):
        (copies / "renamed.config").write_text(newer)
        names.append(str(copies / "renamed.config"))
    relative = [str(Path(name).relative_to(tree)) for name in names]
    script_of_ours = ["sh", "scripts/kconfig/merge_config.sh", "-n", "-O", OBJECTS, *relative]
    run(script_of_ours, tree, log, _ignore, arch)
    return (tree / OBJECTS / ".config").read_text()


def compile_kernel(
    tree: Path,
    log: Path,
    on_step: Callable[[], None],
    arch: Arch = "um",
    targets: tuple[str, ...] = (),
    version: str = "1",
) -> None:
    """One job more than processors keeps them busy while one job reads. targets: other than the one of
    IMAGES. version: stands in uname -v, and so in the build id."""
    jobs = len(os.sched_getaffinity(0)) + 1
    wanted = targets or (IMAGES[arch][0],)
    words = ["make", f"-j{jobs}", f"ARCH={arch}", f"O={OBJECTS}", f"KBUILD_BUILD_VERSION={version}", *wanted]
    run(words, tree, log, on_step, arch)


def _ignore() -> None:
    pass


_STEP = re.compile(r"  [A-Z]+[A-Z ]* +\S")


def run(command: list[str], tree: Path, log: Path, on_step: Callable[[], None], arch: Arch) -> None:
    """Run to the end, logging; on_step() at each line that names a step. BuildFailed when it fails.

    The command leads a process group of its own, which is killed when we are interrupted; and setpriv
    has it terminated when we are killed. make passes that on to its compilers.
    """
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", *command],
        cwd=tree,
        env=environment(arch),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        with log.open("a") as kept:
            for line in process.stdout:
                kept.write(line)
                if _STEP.match(line):
                    on_step()
        status = process.wait()
    finally:
        _end(process)
    if status != 0:
        raise BuildFailed(
            first_error(log.read_text(errors="replace")) or f"{command[0]} ended with exit status {status}"
        )


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def first_error(log: str) -> str:
    """The line that a person would look for: a full disk before all, then what the compiler said first."""
    signs = (
        r"No space left on device",
        r"\berror:",
        r"undefined reference",
        r"\*\*\* ",
        r"command not found",
    )
    for sign in signs:
        for line in log.splitlines():
            if re.search(sign, line):
                return line.strip()
    return ""
