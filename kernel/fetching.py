"""
Revisions of git repositories elsewhere: fetched into the cache, nothing but what was asked for.

In:       an Address that has a URL.
Out:      the folder of our copy, and the commit; what a copy has. BadKernel when there is no such repository
          or revision; BuildFailed when it cannot be reached, with what the cache has of it.
Not here: the user's own repositories, which are read where they are (git.py); the trees that nights watch
          (harness/nightly/trees.py).

A copy is a bare repository below trees/ in the cache, one for each URL. A revision is fetched without its
history (git fetch --depth 1): of a kernel that is about a tenth of what a clone takes. A branch or a tag is
fetched anew by each process that asks for it, once; the hash of a commit that is there already is not.

Which commits are there is said by references of ours, and by nothing else:
    refs/commits/<hash>    a commit that is there as a whole
    refs/asked/<revision>  what a branch or tag was when it was fetched last
git writes a reference only when all that it needs is on the disk. The first fetch fills a directory that
appears by rename. So a fetch that was interrupted leaves nothing that looks like a commit.

The user's settings hold here, as for their own git: credentials, proxies, insteadOf.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import msgspec

from kernel import cache
from kernel.address import Address
from kernel.git import run
from kernel.kernel import BadKernel, BuildFailed

Progress = Callable[[str, float], None]

# One commit of 7.2 takes 275 MiB as a pack with its index. As much again for the next ones.
FETCH_BYTES = 600 << 20
SHOWN_LINES = 3
SHOWN_COMMITS = 5
HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEXADECIMAL = re.compile(r"[0-9a-f]{7,64}")  # seven is git's own least abbreviation (core.abbrev)
_PERCENT = re.compile(r"(Receiving objects|Resolving deltas): +(\d+)%")
# What git and servers say of a repository or revision that is not there, in place of trouble on the way.
_UNKNOWN_REVISION = ("couldn't find remote ref", "not our ref", "unadvertised object", "no such remote ref")
_UNKNOWN_REPOSITORY = (
    "does not appear to be a git repository",
    "repository not exported",
    "' not found",
    "Repository not found",
    "no such repository",
)
# Of the environment of a hook, say: they name another repository than ours.
_FOREIGN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_QUARANTINE_PATH",
)
_fetched: dict[tuple[Path, str], str] = {}  # by copy and revision, the commit; of this process


class Cached(msgspec.Struct, frozen=True):
    """A commit that a copy has. asked: branches and tags that it was when they were fetched last.
    date: of its committer, as 2026-11-26. subject: its first line."""

    commit: str
    asked: tuple[str, ...]
    date: str
    subject: str


def place(url: str, history: bool = False) -> Path:
    """The copy of a URL, whoever asks for it: kernels of one copy are built on from one another. That with
    the whole history is also the one of nights."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    return cache.root() / "trees" / (f"{name}.git" if history else f"{name}.shallow.git")


def fetched(where: Address, progress: Progress, history: bool = False) -> tuple[Path, str]:
    """Folder and commit of an Address with a URL; nobody removes the folder until this process ends.
    history: with all commits before it, as a bisection needs. Errors: BadKernel, BuildFailed."""
    assert where.url
    if shutil.which("git") is None:
        raise BuildFailed(
            f"{where.url} cannot be fetched, because git is not installed. Install it: sudo apt-get install "
            "git"
        )
    folder = place(where.url, history)
    cache.use(folder)
    with cache.locked(folder, lambda: progress(f"waiting: another process is fetching {where.url}", 0.0)):
        commit = _there(folder, where.revision) or _fetch(folder, where, progress, history)
    _fetched[folder, where.revision] = commit
    cache.touch(folder)
    return folder, commit


def cached(url: str) -> list[Cached]:
    """What the copy of a URL has, the newest commit first."""
    folder = place(url)
    if not folder.is_dir():
        return []
    form = "%(objectname)%00%(*objectname)%00%(refname)%00%(committerdate:short)%00%(subject)"
    listed = run(
        folder, "for-each-ref", "--sort=-committerdate", f"--format={form}", "refs/", errors="replace"
    )
    rows = [line.split("\0") for line in listed.stdout.splitlines()]
    asked: dict[str, list[str]] = {}
    for commit, of_tag, reference, _date, _subject in rows:
        if reference.startswith("refs/asked/"):
            asked.setdefault(of_tag or commit, []).append(_unquoted(reference))
    return [
        Cached(commit, tuple(asked.get(commit, ())), date, subject)
        for commit, of_tag, reference, date, subject in rows
        if reference.startswith("refs/commits/") and not of_tag
    ]


def _there(folder: Path, revision: str) -> str:
    """The commit, when it need not be fetched: a commit that the copy has, by its hash or, where only one
    begins so, the beginning of it; a branch or tag that this process has fetched. Else ""."""
    if not folder.is_dir():
        return ""
    if commit := _fetched.get((folder, revision)):
        return commit
    if not _HEXADECIMAL.fullmatch(revision):
        return ""
    listed = run(folder, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/commits/").stdout.split()
    found = [commit for commit in listed if commit.startswith(revision)]
    if len(found) > 1:
        raise BadKernel(
            f"{revision} is the beginning of several commits: {', '.join(found)}. Name one in full"
        )
    return found[0] if found else ""


def _fetch(folder: Path, where: Address, progress: Progress, history: bool) -> str:
    """The commit, fetched now. The lock of the folder is held."""
    progress(f"fetching {where.revision}", 0.0)
    if folder.is_dir():
        _clear(folder)
        return _fetch_into(folder, folder, where, progress, history)
    cache.require_space(FETCH_BYTES, f"a copy of {where.url}")
    with cache.appearing(folder) as made:
        if trouble := _git(made, ["init", "--quiet", "--bare", "--template=", "."]):
            raise BuildFailed(f"{made}: git init: {trouble}")
        return _fetch_into(made, folder, where, progress, history)


def _fetch_into(into: Path, folder: Path, where: Address, progress: Progress, history: bool) -> str:
    """into: the folder, or what will be it."""
    revision = where.revision
    whole = HASH.fullmatch(revision)
    ours = f"refs/commits/{revision}" if whole else f"refs/asked/{quote(revision, safe='')}"
    depth = [] if history else ["--depth=1"]
    words = ["fetch", *depth, "--no-tags", "--no-write-fetch-head", "--force", "--progress", "--", where.url]
    trouble = _git(
        into,
        [*words, f"+{revision}:{ours}"],
        lambda fraction: progress(f"fetching {revision}", fraction),
    )
    if trouble:
        raise _refused(where, trouble, folder)
    found = run(into, "rev-parse", "--verify", "--quiet", f"{ours}^{{commit}}").stdout.strip()
    if not found:
        run(into, "update-ref", "-d", ours)
        raise BadKernel(f"{where.url}@{revision} is not a commit")
    kept = run(into, "update-ref", f"refs/commits/{found}", found)
    if kept.returncode:
        raise BuildFailed(f"{into}: git update-ref: {kept.stderr.strip()}")
    return found


def _refused(where: Address, trouble: str, folder: Path) -> Exception:
    """What a person would want to know of git's complaint."""
    if "No space left" in trouble:
        return BuildFailed(
            f"{cache.root()}: the disk is full. Free some space, or set POWERCUT_CACHE to a folder on "
            "another disk"
        )
    if any(sign in trouble for sign in _UNKNOWN_REVISION):
        short = _HEXADECIMAL.fullmatch(where.revision) and not HASH.fullmatch(where.revision)
        hint = " A server gives a commit by its whole hash only." if short else ""
        return BadKernel(
            f"{where.url} has no revision {where.revision!r}.{hint} git ls-remote {where.url} lists its "
            "branches and tags"
        )
    if any(sign in trouble for sign in _UNKNOWN_REPOSITORY):
        return BadKernel(f"{where.url} is not a git repository: {trouble}")
    return BuildFailed(f"{where.url} cannot be fetched: {trouble}. {_ways_on(where, folder)}")


def _ways_on(where: Address, folder: Path) -> str:
    there = cached(where.url) if folder.is_dir() else []
    if not there:
        return "The cache has no commit of it. Correct that, or name a clone on this machine: PATH@REV"
    shown = "; ".join(f"{where.name}@{one.commit}{_about(one)}" for one in there[:SHOWN_COMMITS])
    more = f" and {len(there) - SHOWN_COMMITS} more" if len(there) > SHOWN_COMMITS else ""
    return f"The cache has these commits of it, which can be named without a network: {shown}{more}"


def _about(one: Cached) -> str:
    asked = f"{', '.join(one.asked)}, " if one.asked else ""
    return f" ({asked}{one.date}, {one.subject})"


def _unquoted(reference: str) -> str:
    return re.sub(r"%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), reference.split("/", 2)[2])


# --- git -----------------------------------------------------------------------------------------


def _clear(folder: Path) -> None:
    """Remove what a killed fetch left. Whoever holds the folder's lock is the only one that writes there."""
    objects = folder / "objects"
    for left in (*objects.glob("pack/tmp_*"), *folder.glob("*.lock"), *folder.glob("refs/**/*.lock")):
        left.unlink(missing_ok=True)
    for left in (*objects.glob("tmp_objdir-*"), *objects.glob("incoming-*")):
        cache.remove(left)


def _git(folder: Path, words: list[str], on_fraction: Callable[[float], None] = lambda _: None) -> str:
    """git in the folder, with the user's own settings; "" when it went well, else what it said."""
    settings = (
        "safe.directory=*",
        "gc.auto=0",
        "maintenance.auto=false",
        "core.fsync=all",
        "fetch.unpackLimit=1",
    )
    given = [word for one in settings for word in ("-c", one)]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "git", *given, *words],
        cwd=folder,
        env=_surroundings(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    assert process.stderr is not None
    said: list[str] = []
    try:
        # git ends the lines of its progress by a carriage return, which is a newline to Python's text files.
        for line in process.stderr:
            if found := _PERCENT.search(line):
                on_fraction(_fraction(found[1], int(found[2])))
            elif line.strip() and not line.startswith("remote: "):
                said.append(line.strip().removeprefix("fatal: "))
        status = process.wait()
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()
    if status == 0:
        return ""
    return " ".join(said[:SHOWN_LINES]).rstrip(".") or f"git {words[0]} ended with exit status {status}"


def _surroundings(folder: Path) -> dict[str, str]:
    """The user's own, but that nobody is asked for a password beside a bar. The user's own command for ssh
    stays."""
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    kept |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    own = subprocess.run(
        ["git", "config", "core.sshCommand"],
        cwd=folder,
        env=kept,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return kept if own.returncode == 0 else {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"} | kept


def _fraction(stage: str, percent: int) -> float:
    """Receiving takes most of the time; the rest is the deltas."""
    return 0.9 * percent / 100 if stage.startswith("Receiving") else 0.9 + 0.1 * percent / 100
