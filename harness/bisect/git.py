"""
git's part of a bisect: a repository of our own on the user's objects, in which `git bisect run` works.

In:       a repository, two commits, the command of one step.
Out:      which commit is the first bad one, or which ones it may be; git's log of it.
Not here: what a step does (step.py), reading a revision's files (kernel/git.py).

Ours is bare and has no object of its own: it borrows the user's (objects/info/alternates), and git bisect
runs in it without a checkout. So the user's work tree, HEAD, references and any bisect of theirs stay as they
are, and nothing is written into their repository.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from harness.local.root import ROOT
from kernel.git import NO_SETTINGS, run
from reports.text.counting import number

GOOD, BAD, SKIP = 0, 1, 125  # what `git bisect run` understands; from 128 on it gives up
GIVE_UP = 255


class NotBisected(Exception):
    """git could not do its part, or was stopped; the message holds its words."""


class Commit(msgspec.Struct, frozen=True):
    """A commit of the repository.

    hash:    in full.
    subject: its first line.
    author:  its author.
    date:    of its author, as git writes it in ISO form.
    """

    hash: str
    subject: str
    author: str
    date: str


class Found(msgspec.Struct, frozen=True):
    """first_bad: its hash, or "" when skipped commits leave several: candidates."""

    first_bad: str
    candidates: tuple[str, ...]
    log: str


def commit(repository: Path, name: str) -> Commit:
    said = _git(repository, "log", "-1", "--format=%H%x00%s%x00%an <%ae>%x00%ai", "--end-of-options", name)
    return Commit(*said.rstrip("\n").split("\0"))


def is_ancestor(repository: Path, good: str, bad: str) -> bool:
    return _run(repository, "merge-base", "--is-ancestor", good, bad).returncode == 0


def merge_base(repository: Path, one: str, other: str) -> str:
    """ "" when they have none."""
    return _run(repository, "merge-base", one, other).stdout.strip()


def count_between(repository: Path, good: str, bad: str) -> int:
    """Commits that bad has and good has not."""
    return int(_git(repository, "rev-list", "--count", f"{good}..{bad}"))


def parents(repository: Path, one: str) -> tuple[str, ...]:
    return tuple(_git(repository, "rev-list", "--parents", "-1", one).split()[1:])


def borrow(repository: Path, place: Path, head: str) -> None:
    """Make the repository of our own at place, which must not be there."""
    kind = _git(repository, "rev-parse", "--show-object-format").strip()
    objects, shallow = (
        repository / _git(repository, "rev-parse", "--git-path", name).strip()
        for name in ("objects", "shallow")
    )
    place.mkdir()
    _git(place, "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", ".")
    (place / "objects" / "info").mkdir(exist_ok=True)
    (place / "objects" / "info" / "alternates").write_text(f"{objects.resolve()}\n")
    if shallow.exists():
        shutil.copyfile(shallow, place / "shallow")
    _git(place, "update-ref", "--no-deref", "HEAD", head)


def bisect(place: Path, good: str, bad: str, step: Iterable[str], tell: Callable[[str], None]) -> Found:
    """
    git bisect start, run, log. tell() gets what git says of the steps left.
    Errors: NotBisected. However it ends, the step that runs is ended, too.
    """
    begun = _git(place, "bisect", "start", "--no-checkout", bad, good)
    _tell_left(begun.splitlines(), tell)
    said = _bisect_run(place, list(step), tell)
    log = _git(place, "bisect", "log")
    first = re.search(r"^# first bad commit: \[(\w+)\]", log, re.MULTILINE)
    candidates = tuple(re.findall(r"^# possible first bad commit: \[(\w+)\]", log, re.MULTILINE))
    if not first and not candidates:
        raise NotBisected(f"git bisect run: {said}")
    return Found(first[1] if first else "", candidates, log)


def _bisect_run(place: Path, step: list[str], tell: Callable[[str], None]) -> str:
    """What git said last. The step talks to standard error by itself."""
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "git", "-C", str(place), "bisect", "run", *step],
        env=surroundings(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # one group, ended as a whole
    )
    assert process.stdout is not None
    said = ""
    try:
        for line in process.stdout:
            said = line.strip() or said
            _tell_left([line], tell)
        status = process.wait()
    finally:
        _end(process)
    return f"{said} (status {status})"


def _tell_left(lines: Iterable[str], tell: Callable[[str], None]) -> None:
    for line in lines:
        if found := re.match(r"Bisecting: (\d+) revisions? left to test after this \(roughly (\d+)", line):
            revisions, steps = number(int(found[1]), "revision"), number(int(found[2]), "step")
            tell(f"{revisions} left after this one, about {steps}")


def _end(process: "subprocess.Popen[str]") -> None:
    """git and its step, which ends its guests in order when it is told to (SIGTERM)."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()
    with contextlib.suppress(ProcessLookupError):
        for _ in range(300):
            os.killpg(process.pid, 0)  # is there one of the group still?
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)


def surroundings() -> dict[str, str]:
    """Ours, without what git or the user's git settings put there: GIT_DIR above all. git speaks English."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)} | NO_SETTINGS


def _git(place: Path, *arguments: str) -> str:
    """Errors: NotBisected."""
    done = _run(place, *arguments)
    if done.returncode != 0:
        raise NotBisected(f"git {' '.join(arguments[:2])} in {place}: {done.stderr.strip()}")
    return done.stdout


def _run(place: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run(place, *arguments, errors="replace")  # for JSON
