"""
A source tree of the user, which is only ever read.

In:       the path of a kernel source tree, in git or not.
Out:      its files with their digests; their contents, as long as they are what was examined.
Not here: a revision of a git repository (git.py), the copy that is compiled (files.py).
"""

import hashlib
import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from kernel import cache, git
from kernel.files import TreeFile, TreeFiles, files_digest, makefile_version
from kernel.kernel import BadKernel
from kernel.make import OBJECTS

Progress = Callable[[str, float], None]


def exact_version(tree: Path, files: TreeFiles) -> str:
    """Its kernel version, its git commit when it has one, the digest of its files."""
    version = makefile_version((tree / "Makefile").read_text(errors="replace"))
    return f"{version}{_git_commit(tree)} files sha256:{files_digest(files)}"


def reader(tree: Path) -> Callable[[str, TreeFile], bytes]:
    """read(name, file) gives the content. BadKernel when it is not what it was when it was examined."""

    def read(name: str, file: TreeFile) -> bytes:
        content = (tree / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != file.digest:
            raise BadKernel(f"{tree / name} changed while it was being read. Start again")
        return content

    return read


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
            raise BadKernel(
                f"{tree} is a git work tree, and git is not installed. Install it: sudo apt-get install git"
            )
        command = ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        # The user's own settings say what is ignored; GIT_DIR and its like, of a hook say, mean another tree.
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(command, env=own, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise BadKernel(f"{tree}: {done.stderr.decode(errors='replace').strip()}")
        yield from (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
        return
    for leftover in (".config", "include/config"):
        if (tree / leftover).exists():
            raise BadKernel(f"{tree} was built in place: it has {leftover}. Run make mrproper in it")
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


def _git_commit(tree: Path) -> str:
    if not (tree / ".git").exists():
        return ""
    commit = git.run(tree, "rev-parse", "--short=12", "HEAD").stdout.strip()
    return f" git {commit}" if commit else ""
