"""
The files of a source, as a list that two sources can be compared by.

In:       TreeFiles, name to TreeFile, of a user's tree (tree.py) or of a git revision (git.py).
Out:      their digest; a copy of ours brought from the one to the other; what a Makefile says of itself.
Not here: reading the lists (tree.py, git.py), compiling the copy (build.py).
"""

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from kernel.kernel import BadKernel

Progress = Callable[[str, float], None]


class TreeFile(msgspec.Struct, frozen=True, array_like=True):
    """One file. size and mtime_ns only tell whether it must be read again; digest is its content: of a tree
    its SHA-256, of git the name of its blob, of a symbolic link "-> target"."""

    size: int
    mtime_ns: int
    executable: bool
    digest: str


TreeFiles = dict[str, TreeFile]


def files_digest(files: TreeFiles) -> str:
    lines = (f"{name}\0{file.executable:d}\0{file.digest}\n" for name, file in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def mirror(
    read: Callable[[str, TreeFile], bytes],
    files: TreeFiles,
    have: TreeFiles,
    copy: Path,
    progress: Progress,
) -> tuple[str, ...]:
    """Make copy, which holds `have`, hold `files`; the names of what was written. Only what differs is
    written, as new files with the time of now, so that make compiles just that and no hard link is
    written through. read(name, file): its content, or BadKernel when that is no longer to be had."""
    for name in have.keys() - files.keys():
        (copy / name).unlink(missing_ok=True)
    changed = [name for name, file in files.items() if _content(have.get(name)) != _content(file)]
    for index, name in enumerate(changed):
        if index % 500 == 0:
            progress("copying the source", index / len(changed))
        target, file = copy / name, files[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)  # its files are gone from the source, and a file has the name
        target.unlink(missing_ok=True)
        if file.digest.startswith("-> "):
            target.symlink_to(file.digest.removeprefix("-> "))
            continue
        target.write_bytes(read(name, file))
        target.chmod(0o755 if file.executable else 0o644)
    return tuple(changed)


def replace(path: Path, content: bytes) -> None:
    """A new file under the old name: the name's other hard links keep the old one."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(content)
    shutil.copymode(path, beside)
    beside.replace(path)


def _content(file: TreeFile | None) -> tuple[str, bool] | None:
    return (file.digest, file.executable) if file else None


def makefile_version(text: str) -> str:
    """6.12.117, of the text of a kernel's top Makefile."""
    numbers = [
        re.search(rf"^{name} *= *(\d+)", text[:2000], re.MULTILINE)
        for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    ]
    return ".".join(match[1] for match in numbers if match)


def require_kernel(place: str, has: Callable[[str], bool]) -> None:
    """Say what is missing in a source that we cannot build. has(name): whether it has that file.
    Errors: BadKernel."""
    missing = [name for name in ("Makefile", "Kconfig") if not has(name)]
    if missing:
        raise BadKernel(f"{place} is not a kernel source tree: it has no {', no '.join(missing)}")
    if not has("arch/um/Kconfig"):
        raise BadKernel(f"{place} has no arch/um/Kconfig. Powercut needs User Mode Linux to run this kernel")
