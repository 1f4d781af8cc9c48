"""
Get a source: a release from Debian's package, or a tree of the user.

In:       Source; the package installed, in Debian's archive, or in the cache.
Out:      its exact version, which decides whether a kernel is already built; and its files, in a
          directory of ours. The user's tree is only ever read.
Not here: the archive (archive.py), series (patching.py), compiling (make.py).
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from kernel import archive, cache
from kernel.kernel import BadKernel, BuildFailed, Source
from kernel.make import OBJECTS, environment

Progress = Callable[[str, float], None]

UNPACKED_BYTES = 1_650 << 20  # linux-source-6.12 unpacked: 1.49 GiB of files, 4 KiB blocks
FILE_COUNT = 92_000  # of 6.12, for the progress of unpacking


class Examined(msgspec.Struct, frozen=True):
    """version: what the kernel's key takes of a source, equal only when the files are.
    files: of a tree, what it held when it was examined; of a release nothing."""

    version: str
    files: "TreeFiles"


def examine(source: Source, progress: Progress, ask_system: bool = True) -> Examined:
    """Looks up a release's version (about 1 s, by apt), reads what changed in a tree.
    ask_system: whether what the system's apt knows is believed (archive.py)."""
    if source.kind == "debian":
        return Examined(f"{_package(source)} {_package_version(source, progress, ask_system)}", {})
    tree = Path(source.name)
    files = tree_files(tree, progress)
    return Examined(f"{_version(tree)}{_git_commit(tree)} files sha256:{files_digest(files)}", files)


# --- Debian's packages ---


def _package(source: Source) -> str:
    return f"linux-source-{source.name}"


def _package_version(source: Source, progress: Progress, ask_system: bool) -> str:
    """Of the installed package, else of the one apt would fetch, else of the newest in the cache."""
    package = _package(source)
    if installed := _installed_version(package):
        return installed
    try:
        return archive.offer(source.name, progress, ask_system).version
    except BuildFailed as error:
        if cached := sorted((cache.root() / "sources").glob(f"{package}_*/linux"), key=_age):
            return cached[-1].parent.name.partition("_")[2]
        raise BuildFailed(
            f"{package} is not installed and cannot be had: {error}. "
            "Mend that, or give the directory of a source tree"
        ) from error


def _age(path: Path) -> float:
    return path.parent.stat().st_mtime


def _installed_version(package: str) -> str:
    said = _output(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package])
    status, _, package_version = said.partition(" ")
    return package_version if status == "installed" and _installed_archive(package).is_file() else ""


def _installed_archive(package: str) -> Path:
    return Path("/usr/src") / f"{package}.tar.xz"


def _output(command: list[str]) -> str:
    """Empty when the program fails or is not there."""
    try:
        return subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        ).stdout
    except OSError:
        return ""


def needed_bytes(source: Source, examined: Examined) -> int:
    """Of disk in the cache, before this source can be compiled."""
    if source.kind == "tree":
        return sum(file.size for file in examined.files.values())
    return 0 if _release_place(examined.version).is_dir() else UNPACKED_BYTES + archive.PACKAGE_BYTES


def _release_place(source_version: str) -> Path:
    return cache.root() / "sources" / source_version.replace(" ", "_")


def unpacked(source: Source, source_version: str, progress: Progress) -> Path:
    """The release's files in the cache, fetched and unpacked when they are not there. Not to be changed.
    Errors: Gone when the archive has another version by now; BuildFailed."""
    package, _, package_version = source_version.partition(" ")
    place = _release_place(source_version)
    with cache.locked(place, lambda: progress(f"waiting: another build unpacks {package}", 0.0)):
        if not place.is_dir():
            with cache.appearing(place) as directory:
                _fetch_and_unpack(source.name, package_version, directory, progress)
    return place / "linux"


def _fetch_and_unpack(release: str, package_version: str, directory: Path, progress: Progress) -> None:
    package = f"linux-source-{release}"
    tree = directory / "linux"
    tree.mkdir()
    if _installed_version(package) == package_version:
        _unpack([["cat", str(_installed_archive(package))]], tree, progress)
        return
    wanted = archive.offer_of(release, package_version)
    deb = archive.download(wanted, directory, lambda stage, fraction: progress(stage, fraction / 3))
    member = f"./usr/src/{package}.tar.xz"
    _unpack([["dpkg-deb", "--fsys-tarfile", str(deb)], ["tar", "-xO", member]], tree, progress)
    deb.unlink()


def _unpack(producers: list[list[str]], tree: Path, progress: Progress) -> None:
    """producers | tar -xJ, without a file in between."""
    # xz decompresses with as many threads as blocks and processors allow (xz 5.4).
    unpacker = ["tar", "-x", "-v", "-I", "xz -T0", "--strip-components=1", "--no-same-owner", "-C", str(tree)]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for command in [*producers, unpacker]:
            previous = processes[-1].stdout if processes else subprocess.DEVNULL
            processes.append(
                subprocess.Popen(
                    ["setpriv", "--pdeathsig", "TERM", *command],
                    env=environment(),
                    stdin=previous,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT if command is unpacker else subprocess.DEVNULL,
                )
            )
            if len(processes) > 1:
                upstream = processes[-2].stdout
                assert upstream is not None
                upstream.close()
        trouble = _count_files(processes[-1], progress)
        statuses = [process.wait() for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    if "No space left" in trouble:
        raise BuildFailed(f"{tree}: the disk is full; free some, or set POWERCUT_CACHE to another")
    if any(statuses):
        raise BuildFailed(
            f"the source could not be unpacked into {tree}: {trouble or 'the package is damaged'}"
        )


def _count_files(process: "subprocess.Popen[bytes]", progress: Progress) -> str:
    assert process.stdout is not None
    trouble = ""
    for count, line in enumerate(process.stdout):
        if count % 500 == 0:
            progress("unpacking the source", 1 / 3 + min(1.0, count / FILE_COUNT) * 2 / 3)
        if line.startswith((b"tar:", b"xz:")):
            trouble = trouble or line.decode(errors="replace").strip()
    return trouble


# --- trees of the user ---


class TreeFile(msgspec.Struct, frozen=True, array_like=True):
    """One file of a tree. size and mtime_ns only tell whether it must be read again; digest is its content
    (of a symbolic link: "-> target")."""

    size: int
    mtime_ns: int
    executable: bool
    digest: str


TreeFiles = dict[str, TreeFile]


def tree_files(tree: Path, progress: Progress) -> TreeFiles:
    """Every file of the tree with its digest. What was read before is read again only when its size or
    time changed, as git does. In a git work tree, ignored files are left out."""
    remembered = cache.root() / "sources" / f"tree-{_tree_id(tree)}.json"
    before = _remembered(remembered)
    names = sorted(_names(tree))
    files: TreeFiles = {}
    for index, name in enumerate(names):
        if index % 500 == 0:
            progress(f"reading {tree}", index / len(names))
        if file := _tree_file(tree / name, before.get(name)):
            files[name] = file
    with cache.full_disk_explained():
        remembered.parent.mkdir(parents=True, exist_ok=True)
        beside = remembered.with_name(f"{remembered.name}.{os.getpid()}-{threading.get_ident()}")
        beside.write_bytes(msgspec.json.encode(files))
        beside.replace(remembered)
    return files


def _remembered(path: Path) -> TreeFiles:
    try:
        return msgspec.json.decode(path.read_bytes(), type=TreeFiles)
    except (OSError, msgspec.DecodeError):
        return {}


def _tree_id(tree: Path) -> str:
    return hashlib.sha256(str(tree).encode()).hexdigest()[:16]


def _tree_file(path: Path, before: TreeFile | None) -> TreeFile | None:
    try:
        status = path.lstat()
        if path.is_symlink():
            return TreeFile(0, 0, False, f"-> {path.readlink()}")
        if not stat.S_ISREG(status.st_mode):
            return None  # a git submodule, a socket: nothing that make reads
        same = before and (before.size, before.mtime_ns) == (status.st_size, status.st_mtime_ns)
        if before and same:
            digest = before.digest
        else:
            with path.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except FileNotFoundError:
        return None  # deleted, but still in git's index
    except OSError as error:
        raise BadKernel(f"{path} cannot be read: {error.strerror}") from error
    return TreeFile(status.st_size, status.st_mtime_ns, bool(status.st_mode & 0o100), digest)


def _names(tree: Path) -> Iterator[str]:
    if (tree / ".git").exists():
        if shutil.which("git") is None:
            raise BadKernel(f"{tree} is a git work tree, and git is missing: sudo apt-get install git")
        command = ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise BadKernel(f"{tree}: {done.stderr.decode(errors='replace').strip()}")
        yield from (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
        return
    for leftover in (".config", "include/config"):
        if (tree / leftover).exists():
            raise BadKernel(f"{tree} was built in place ({leftover} is there); run make mrproper in it")
    for directory, directories, names in os.walk(tree):
        here = Path(directory)
        if here == tree:
            directories[:] = [name for name in directories if not _is_build_output(tree / name)]
        links = [name for name in directories if (here / name).is_symlink()]  # os.walk calls them directories
        yield from (str((here / name).relative_to(tree)) for name in (*names, *links))


def _is_build_output(directory: Path) -> bool:
    """What make O=directory leaves: a link to the source beside a .config."""
    return directory.name == OBJECTS or (
        (directory / "source").is_symlink() and (directory / ".config").exists()
    )


def files_digest(files: TreeFiles) -> str:
    lines = (f"{name}\0{file.executable:d}\0{file.digest}\n" for name, file in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def mirror(tree: Path, files: TreeFiles, have: TreeFiles, copy: Path, progress: Progress) -> tuple[str, ...]:
    """Make copy, which holds `have`, hold `files`; the names of what was written. Only what differs is
    written, as new files with the time of now, so that make compiles just that and no hard link is
    written through. BadKernel when the tree is not what it was when it was examined."""
    for name in have.keys() - files.keys():
        (copy / name).unlink(missing_ok=True)
    changed = [name for name, file in files.items() if _content(have.get(name)) != _content(file)]
    for index, name in enumerate(changed):
        if index % 500 == 0:
            progress(f"copying {tree}", index / len(changed))
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)  # its files are gone from the tree, and a file has the name
        target.unlink(missing_ok=True)
        if files[name].digest.startswith("-> "):
            target.symlink_to(files[name].digest.removeprefix("-> "))
            continue
        content = (tree / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != files[name].digest:
            raise BadKernel(f"{tree / name} changed while it was read; start again")
        target.write_bytes(content)
        target.chmod(0o755 if files[name].executable else 0o644)
    return tuple(changed)


def _content(file: TreeFile | None) -> tuple[str, bool] | None:
    return (file.digest, file.executable) if file else None


def makefile_version(text: str) -> str:
    """6.12.117, of the text of a kernel's top Makefile."""
    numbers = [
        re.search(rf"^{name} *= *(\d+)", text[:2000], re.MULTILINE)
        for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    ]
    return ".".join(match[1] for match in numbers if match)


def _version(tree: Path) -> str:
    return makefile_version((tree / "Makefile").read_text(errors="replace"))


def _git_commit(tree: Path) -> str:
    if not (tree / ".git").exists():
        return ""
    commit = _output(["git", "-C", str(tree), "rev-parse", "--short=12", "HEAD"]).strip()
    return f" git {commit}" if commit else ""
