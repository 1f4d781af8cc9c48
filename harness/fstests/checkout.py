"""
A built checkout of fstests: whether it is one, and which tests it has.

In:       a folder.
Out:      require_built(); selected(): the tests of groups and names for a filesystem; version().
Not here: building it (docs/howto/my-fstests.md), running a test (machine.py).
"""

import fnmatch
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.fstests.check import GROUPS, NoCheckout

VARIABLE = "POWERCUT_FSTESTS"
CRASH_GROUPS = ("log", "recoveryloop", "shutdown", "replay")
COMMON = "generic"  # the folder of the tests for every filesystem; the others have its name
# By file, what makes it. The second and the third are programs that most crash tests need.
BUILT = (
    ("check", "", "it is not a checkout of fstests"),
    ("include/builddefs", "configure", "it is not built"),
    (f"tests/{COMMON}/{GROUPS}", "make", "it is not built"),
    ("ltp/fsstress", "make", "it is not built"),
    ("src/log-writes/replay-log", "make", "it is not built"),
)
# Debian's packages that build it, and those whose programs the tests of the crash groups call.
BUILD_PACKAGES = (
    "acl attr autoconf automake bc build-essential e2fsprogs fio gawk libacl1-dev libaio-dev libattr1-dev",
    "libcap-dev libgdbm-dev libtool-bin liburing-dev perl pkg-config quota sqlite3 uuid-dev uuid-runtime",
    "xfslibs-dev xfsprogs",
)
_ENTRY = re.compile(r"(\d{3,})\s+(.*)")


class NoSuchTest(Exception):
    """A test or group that the checkout does not have, or not for these filesystems."""


def folder_of(named: Path | None) -> Path:
    """What --fstests names, or POWERCUT_FSTESTS. Errors: NoCheckout."""
    place = named or Path(os.environ.get(VARIABLE, ""))
    if place == Path() and named is None:
        raise NoCheckout(f"name a built checkout of fstests: --fstests DIR, or {VARIABLE}=DIR")
    require_built(place)
    return place.resolve()


def lack(folder: Path) -> str:
    """Why it is no built checkout, "" when it is one."""
    if not folder.is_dir():
        return "there is no such folder"
    for file, _maker, words in BUILT:
        if not (folder / file).is_file():
            fix = "" if file == "check" else f". {build_line(folder)}"
            return f"{words}: {file} is missing{fix}"
    return ""


def build_line(folder: Path) -> str:
    return f"Build it: cd {folder} && make -j$(nproc), after apt-get install {' '.join(BUILD_PACKAGES)}"


def require_built(folder: Path) -> None:
    """Errors: NoCheckout, with the command that builds it."""
    if words := lack(folder):
        raise NoCheckout(f"fstests in {folder}: {words}")


def version(folder: Path) -> str:
    """The commit, or the numbers in VERSION where it is no repository."""
    if (folder / ".git").exists() and shutil.which("git"):
        done = subprocess.run(
            ["git", "-C", str(folder), "log", "-1", "--format=%h %cs"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout.strip()
    numbers = re.findall(
        r"^PACKAGE_(?:MAJOR|MINOR|REVISION)=(\d+)", text_of(folder / "VERSION"), re.MULTILINE
    )
    return ".".join(numbers) or "unknown"


def text_of(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def groups_of(folder: Path, kind: str) -> dict[str, frozenset[str]]:
    """By test, as "generic/475", its groups. kind: a folder of tests/; one without a list has no tests.
    Errors: OSError."""
    path = folder / "tests" / kind / GROUPS
    if not path.is_file():
        return {}
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    matches = (_ENTRY.fullmatch(line) for line in lines)
    return {f"{kind}/{match[1]}": frozenset(match[2].split()) for match in matches if match}


def selected(
    folder: Path, filesystems: Sequence[str], groups: Sequence[str], tests: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """By filesystem, its tests in order. tests: names or globs, as "generic/47*"; with them groups only
    narrow, when
    there are any. Errors: NoSuchTest, OSError."""
    kinds = {COMMON: groups_of(folder, COMMON), **{name: groups_of(folder, name) for name in filesystems}}
    known = {test: of for listed in kinds.values() for test, of in listed.items()}
    require_known(folder, known, groups, tests)
    wanted = {
        test
        for test, of in known.items()
        if (not groups or of & set(groups))
        and (not tests or any(fnmatch.fnmatch(test, name) for name in tests))
    }
    if not wanted:
        raise NoSuchTest(f"no test of {', '.join(tests)} is in the groups {', '.join(groups)}")
    return {
        name: tuple(sorted(test for test in wanted if test.partition("/")[0] in (COMMON, name)))
        for name in filesystems
    }


def require_known(
    folder: Path, known: dict[str, frozenset[str]], groups: Sequence[str], tests: Sequence[str]
) -> None:
    """Errors: NoSuchTest."""
    for name in tests:
        if any(fnmatch.fnmatch(test, name) for test in known):
            continue
        kind = name.partition("/")[0]
        if fnmatch.filter(groups_of(folder, kind), name):
            raise NoSuchTest(f"{name} is a test for {kind} only: add --fs {kind}")
        raise NoSuchTest(
            f"{folder} has no test {name!r}. A test is named as in generic/475, or by a glob: 'generic/47*'"
        )
    every = frozenset().union(*known.values()) if known else frozenset()
    for group in groups:
        if group not in every:
            raise NoSuchTest(
                f"no test for these filesystems is in the group {group!r}. The groups are: "
                f"{', '.join(sorted(every))}"
            )
