"""
Get a source: a release from Debian's package, a tree of the user, or a revision of a git repository.

In:       Source.
Out:      its exact version, which decides whether a kernel is already built; and its files, in a
          directory of ours. What is the user's is only ever read.
Not here: each kind of source (release.py, tree.py, git.py), series (patching.py), compiling (make.py).
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from kernel import git, release, tree
from kernel.files import TreeFiles, mirror
from kernel.kernel import Source

Progress = Callable[[str, float], None]


class Examined(msgspec.Struct, frozen=True):
    """version: what the kernel's key takes of a source, equal only when the files are.
    files: of a tree or revision, what it held when it was examined; of a release nothing."""

    version: str
    files: TreeFiles


def examine(source: Source, progress: Progress, ask_system: bool = True) -> Examined:
    """Looks up a release's version (about 1 s, by apt), reads what changed in a tree.
    ask_system: whether what the system's apt knows is believed (archive.py)."""
    if source.kind == "debian":
        return Examined(release.exact_version(source, progress, ask_system), {})
    if source.kind == "git":
        return Examined(git.exact_version(source), git.revision_files(source))
    files = tree.tree_files(Path(source.name), progress)
    return Examined(tree.exact_version(Path(source.name), files), files)


def needed_bytes(source: Source, examined: Examined) -> int:
    """Of disk in the cache, before this source can be compiled."""
    if source.kind == "debian":
        return release.needed_bytes(examined.version)
    return sum(file.size for file in examined.files.values())


def bring(
    source: Source, examined: Examined, have: TreeFiles, copy: Path, progress: Progress
) -> tuple[str, ...]:
    """Make copy, which holds `have` of this tree or repository, hold what was examined; what was written."""
    if source.kind == "git":
        with git.reader(source) as read:
            return mirror(read, examined.files, have, copy, progress)
    return mirror(tree.reader(Path(source.name)), examined.files, have, copy, progress)
