"""
A source in a git repository that has an address: a URL with a revision, or a short name for one.

In:       "https://host/linux.git@master", "git@host:linux.git@v6.15", "linux-next", "stable@linux-6.12.y".
Out:      Address, or None for a word of another form; BadKernel when it names no revision, or one that
          cannot be asked for over a URL, or when the user's setting of a short name is wrong.
Not here: fetching (fetching.py), reading a repository (git.py), the other forms of a source (word.py).

A short name comes first, as a release does: a folder of that name is named by ./NAME.
"""

import os
import re
from pathlib import Path

import msgspec

from kernel.kernel import BadKernel

_SITE = "https://git.kernel.org/pub/scm/linux/kernel/git"


class ShortName(msgspec.Struct, frozen=True):
    """
    variable: of the environment, which names another place: a folder or a URL, each also with @REV.
    url:      where it is fetched from when the variable is not set.
    branch:   that is meant when no revision is named; "" when one must be.
    about:    what it is.
    """

    variable: str
    url: str
    branch: str
    about: str


# The addresses are those of the file MAINTAINERS: "THE REST", "LINUX NEXT TREE", "STABLE BRANCH".
SHORT_NAMES = {
    "mainline": ShortName(
        "POWERCUT_MAINLINE", f"{_SITE}/torvalds/linux.git", "master", "the tree that releases are made from"
    ),
    "linux-next": ShortName(
        "POWERCUT_LINUX_NEXT", f"{_SITE}/next/linux-next.git", "master", "what is queued for the next release"
    ),
    "stable": ShortName(
        "POWERCUT_STABLE", f"{_SITE}/stable/linux.git", "", "stable releases, a branch each: linux-6.12.y"
    ),
}


class Address(msgspec.Struct, frozen=True):
    """
    name:     what stands in a word before the @: a URL or a short name.
    url:      where it is fetched from; "" when it is read where it is.
    folder:   of the user, where it is read as it stands; None when it is fetched.
    revision: as it is asked for.
    """

    name: str
    url: str
    folder: Path | None
    revision: str


# A colon behind a host is a path of git's own short form for ssh (gitrevisions(7), git-fetch(1), "GIT URLS").
_URL = re.compile(r"(?:https?|git|ssh|file)://[^/]*/?|[\w.-]+@[\w.-]+:(?!//)")
_PASSWORD = re.compile(r"\w+://[^/@]*:[^/@]+@")
_NO_REVISION = re.compile(r"[\s~^:?*\[\\\x7f]|\.\.|@\{|//|^[-/.{]|[/.]$|/\.|\.lock$|^@$")


def address(text: str) -> Address | None:
    """Errors: BadKernel."""
    if is_url(text):
        url, revision = split_url(text)
        if not revision:
            raise BadKernel(
                f"kernel {text!r} names no revision. Name a branch, a tag or a commit: {text}@REV"
            )
        return _remote(url, url, revision)
    name, _, revision = text.partition("@")
    return _short(name, revision) if name in SHORT_NAMES else None


def is_url(text: str) -> bool:
    """A folder on this machine comes first where a word could be git's short form for ssh."""
    return bool(_URL.match(text)) and ("://" in text or folder_at(text)[0] is None)


def split_url(text: str) -> tuple[str, str]:
    """URL and REV of URL@REV. The @ is the last one behind user and host; "" when there is none."""
    begin = _URL.match(text)
    assert begin is not None
    path, at, revision = text[begin.end() :].rpartition("@")
    return (begin[0] + path, revision) if at else (text, "")


def folder_at(text: str) -> tuple[Path | None, str]:
    """PATH and REV of PATH@REV; either may hold an @ of its own. PATH is None when no directory is there."""
    end = len(text)
    while (end := text.rfind("@", 0, end)) > 0:
        path = Path(text[:end]).expanduser()
        if path.is_dir():
            return path, text[end + 1 :]
    return None, ""


def setting(name: str) -> tuple[str, Path | None, str]:
    """URL ("" for none), folder and default revision of a short name. Errors: BadKernel."""
    known = SHORT_NAMES[name]
    value = os.environ.get(known.variable, "").strip()
    if not value:
        return known.url, None, known.branch
    if is_url(value):
        url, revision = split_url(value)
        return url, None, revision or known.branch
    folder: Path | None = Path(value).expanduser()
    assert folder is not None
    if folder.is_dir():
        return "", folder, known.branch
    folder, revision = folder_at(value)
    if folder is None:
        raise BadKernel(
            f"{known.variable}={value} is neither the folder of a git repository nor a URL. Correct it, or "
            f"leave it unset: {name} is then {known.url}"
        )
    return "", folder, revision


def _short(name: str, revision: str) -> Address:
    url, folder, branch = setting(name)
    if not (wanted := revision or branch):
        raise BadKernel(f"kernel {name!r} names no revision. Name a branch or a tag: {name}@linux-6.12.y")
    if folder is not None:
        return Address(name, "", folder, wanted)
    return _remote(name, url, wanted)


def _remote(name: str, url: str, revision: str) -> Address:
    if _PASSWORD.match(url):
        raise BadKernel(
            "the URL of the kernel holds a password, and Powercut keeps the URL in its results. Leave the "
            "password out: git asks its credential helper (gitcredentials(7))"
        )
    if _NO_REVISION.search(revision):
        raise BadKernel(
            f"the revision {revision!r} cannot be asked for over a URL. Name a branch, a tag or the whole "
            "hash of a commit; a clone of yours has the others: PATH@REV"
        )
    return Address(name, url, None, revision)
