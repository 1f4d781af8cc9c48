"""
A kernel for a real machine: its own config, reduced to the modules that it has loaded, and our fragments.

In:       Machine: the text of the machine's config, the names of its modules.
Out:      configure() a tree; TARGETS of make; publish() image and modules; build_id() of notes.
Not here: asking the machine (harness/hosts/own.py), the way of a build (build.py), compiling (make.py).
"""

import hashlib
import shutil
import struct
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from kernel.fragments import FOLDER
from kernel.kernel import Arch, BuildFailed, Machine
from kernel.make import OBJECTS, environment, run

ARCH: Arch = "x86_64"  # no other is cross-compiled
SUFFIX = "-powercut"  # of the release: machine.config
IMAGE = "bzImage"  # our name and make's; MADE is where it lies then
MADE = Path("arch/x86/boot/bzImage")
MODULES = "modules.tar"
TARGETS = ("bzImage", "modules")
FRAGMENTS = ("filesystems", "machine")
STEPS = 3600  # lines of make for 6.12 with the config of Debian 13; only for progress
OBJECTS_BYTES = 2 << 30
_NOTE = struct.Struct("<III")  # elf(5): sizes of name and descriptor, type
_BUILD_ID = 3  # NT_GNU_BUILD_ID


def digest(machine: Machine) -> str:
    """Equal for equal config and modules."""
    text = "\0".join((machine.config, *machine.modules))
    return hashlib.sha256(text.encode()).hexdigest()


def fragments(variants: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(FOLDER / f"{name}.config" for name in (*FRAGMENTS, *variants))


def configure(tree: Path, machine: Machine, ours: tuple[Path, ...], log: Path) -> None:
    """The kernel's own tools do it: olddefconfig, localmodconfig, merge_config.sh. Without modules the config
    is not reduced. Errors: BuildFailed."""
    objects = tree / OBJECTS
    copies = objects / "fragments"  # merge_config.sh cannot take names with blanks
    copies.mkdir(parents=True, exist_ok=True)
    (objects / ".config").write_text(machine.config)
    loaded = copies / "lsmod"
    loaded.write_text("Module Size Used by\n" + "".join(f"{name} 1 0\n" for name in machine.modules))
    make = ("make", f"ARCH={ARCH}", f"O={OBJECTS}", f"LSMOD={loaded}")
    for target in ("olddefconfig", *(("localmodconfig",) if machine.modules else ())):
        run([*make, target], tree, log, _ignore, ARCH)
    shutil.copyfile(objects / ".config", copies / "own.config")
    names = ["own.config", *(Path(shutil.copy(one, copies / one.name)).name for one in ours)]
    places = [f"{OBJECTS}/fragments/{name}" for name in names]
    run(["sh", "scripts/kconfig/merge_config.sh", "-O", OBJECTS, *places], tree, log, _ignore, ARCH)


def _ignore() -> None:
    pass


def publish(tree: Path, directory: Path, log: Path, on_step: Callable[[], None]) -> None:
    """The image, and the modules as an archive from the root of the machine. Errors: BuildFailed."""
    objects, root = tree / OBJECTS, tree / OBJECTS / "installed"
    shutil.copyfile(objects / MADE, directory / IMAGE)
    # depmod is run on the machine: here it is not needed otherwise.
    install = ("modules_install", f"INSTALL_MOD_PATH={root}", "INSTALL_MOD_STRIP=1", "DEPMOD=true")
    run(["make", f"ARCH={ARCH}", f"O={OBJECTS}", *install], tree, log, on_step, ARCH)
    with tarfile.open(directory / MODULES, "w") as archive:
        archive.add(root / "lib/modules", "lib/modules", filter=_of_root)
    shutil.rmtree(root)


def release(tree: Path) -> str:
    """What uname -r will be."""
    return (tree / OBJECTS / "include/config/kernel.release").read_text().strip()


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without the links to the tree it was built in."""
    if entry.issym():
        return None
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    return entry


def build_id_of(tree: Path) -> str:
    """Of the kernel that was compiled in the tree: what the machine shows when this one runs, and no other.
    Errors: BuildFailed."""
    objects = tree / OBJECTS
    notes, copy = objects / "notes.powercut", objects / "vmlinux.powercut"
    # With -O binary the section would stand behind as many zeros as it lies above address 0.
    words = ["objcopy", "--dump-section", f".notes={notes}"]
    done = subprocess.run(
        [*words, str(objects / "vmlinux"), str(copy)],
        env=environment(ARCH),
        capture_output=True,
        text=True,
        check=False,
    )
    copy.unlink(missing_ok=True)
    found = build_id(notes.read_bytes()) if notes.is_file() else ""
    notes.unlink(missing_ok=True)
    if not found:
        raise BuildFailed(f"the kernel has no build id: {done.stderr.strip() or 'no note of that type'}")
    return found


def build_id(notes: bytes) -> str:
    """Of the ELF notes of a kernel, which a running one has in /sys/kernel/notes; "" when there is none."""
    offset = 0
    while offset + _NOTE.size <= len(notes):
        name_size, size, kind = _NOTE.unpack_from(notes, offset)
        name_at = offset + _NOTE.size
        at = name_at + _padded(name_size)
        if kind == _BUILD_ID and notes[name_at : name_at + name_size] == b"GNU\0":
            return notes[at : at + size].hex()
        offset = at + _padded(size)
    return ""


def _padded(size: int) -> int:
    return (size + 3) & ~3
