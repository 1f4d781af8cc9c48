"""
The git trees that nights watch: a copy of each, fetched, in which no night's commit is ever lost.

In:       a folder or URL, a branch.
Out:      fetch(): the copy's folder and the commit of the branch; what of a copy is gone; whether a commit
          descends from another.
Not here: reading a commit's files (kernel/git.py), which commits are tested (night.py).

The copy is a bare repository in the cache, below trees/. A branch that is rebased leaves the commits of the
nights before without a name, and git would remove them: so each night's commit gets a reference of ours. A
folder is only read; from one on the same disk git takes hard links in place of copies.

A copy that no night has used for long may go (kernel/prune.py), and with it the commits that no branch has
any more. It stays as long as a process lives that fetched or read it. Nobody else knows of the copy: git
keeps no note of a clone in the repository that it was made from.

The user's settings hold here, as for their own git: credentials, proxies, insteadOf.
"""

import os
import subprocess
from pathlib import Path

import msgspec

from harness.bisect.git import Commit, commit, count_between, is_ancestor, merge_base
from kernel import cache, fetching
from kernel.git import run

__all__ = [
    "Fetched",
    "NotFetched",
    "commit",
    "count_between",
    "fetch",
    "gone",
    "is_ancestor",
    "merge_base",
    "place",
]
SHOWN_LINES = 3


class NotFetched(Exception):
    """The tree could not be reached, or has no such branch; the message holds git's words."""


class Fetched(msgspec.Struct, frozen=True):
    """The state of a branch. folder: of our copy. commit: the branch's last one."""

    folder: Path
    commit: Commit


def place(tree: str) -> Path:
    """The copy of a tree, whoever asks for it: kernels of one copy are built on from one another. A bisection
    of a URL uses it, too."""
    return fetching.place(tree, history=True)


def fetch(tree: str, branch: str) -> Fetched:
    """tree: an absolute folder, or a URL. Errors: NotFetched."""
    folder = place(tree)
    cache.use(folder)
    with cache.locked(folder, lambda: None):
        if not folder.is_dir():
            with cache.appearing(folder) as made:
                _begin(tree, made)
        ours = f"refs/heads/{branch}"
        _git(
            folder,
            tree,
            "fetch",
            "--quiet",
            "--no-tags",
            "--force",
            "--",
            tree,
            f"+refs/heads/{branch}:{ours}",
        )
        found = commit(folder, ours)
        _git(folder, tree, "update-ref", f"refs/nights/{found.hash}", found.hash)
    cache.touch(folder)
    return Fetched(folder, found)


def gone(folder: Path, *hashes: str) -> str:
    """What is not there any more: the copy, or a commit of it. "" when all is."""
    if not folder.is_dir():
        return f"{folder} was removed from the cache"
    for one in hashes:
        if run(folder, "cat-file", "-e", f"{one}^{{commit}}").returncode:
            return f"commit {one[:12]} is not in {folder}, which was removed from the cache and fetched again"
    return ""


def _begin(tree: str, made: Path) -> None:
    """A folder's objects are linked, where they can be: a kernel has gigabytes of them."""
    if Path(tree).is_dir():
        _git(made, tree, "clone", "--quiet", "--bare", "--no-tags", "--", tree, ".")
        _git(made, tree, "remote", "remove", "origin")
    else:
        _git(made, tree, "init", "--quiet", "--bare", ".")


def _git(folder: Path, tree: str, *words: str) -> None:
    """Errors: NotFetched."""
    # Nobody is there at night who could type a password.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_DIR")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    command = ["git", "-c", "safe.directory=*", "-c", "gc.auto=0", *words]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise NotFetched("git is not installed. Install it: sudo apt-get install git") from error
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise NotFetched(f"{tree}: git {words[0]}: {' '.join(said[:SHOWN_LINES]) or 'failed'}")
