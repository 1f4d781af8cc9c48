"""
Read the pages of known bugs: docs/findings/ID.md.

In:       an ID, as "BTRFS-1".
Out:      BugPage, the YAML front matter of the page; KnownAs, which a summary keeps of it; the text of all
          pages, for reports. BadBugPage.
Not here: how a bug shows (known.py), the table of all bugs in FINDINGS.md (harness/book/findings.py).
"""

import functools
import re
from pathlib import Path

import msgspec

from harness.local.root import ROOT
from reports.results import KnownAs

PAGE = re.compile(r"(BTRFS|EXT4|F2FS|NILFS2|OVERLAY|XFS)-[1-9][0-9]*\.md")
FENCE = "---\n"
UPSTREAM = ("fixed", "reported", "not found", "not searched")
NEEDS = {
    "fast_commit": "ext4 with the feature `fast_commit`, which mke2fs does not set by itself",
    "journal_async_commit": "ext4 with this mount option",
    "inline_data": "ext4 with the feature `inline_data`, which mke2fs does not set by itself",
    "ea_inode": "ext4 with the feature `ea_inode`, which mke2fs does not set by itself",
    "quota": "a filesystem that counts what users and groups have",
    "fsync_mode=strict": "this mount option of f2fs",
    "threads": "two threads that work on one file",
    "several processors": "a guest with several processors (`--cpus`)",
    "eviction": "an inode that leaves the cache, as under memory pressure",
    "failing device": "a device whose write, flush or read fails (`--faults`)",
    "failing block": "a block that fails while a state is recovered (`--failing-blocks`)",
    "torn write": "a write of several blocks of which the power failure leaves some (model T)",
    "overlayfs": "overlayfs above the filesystem (the profiles of an overlay)",
    "verity": "fs-verity in the kernel, and on ext4 and f2fs as a feature (the profiles named `-verity`)",
    "debug kernel": "a kernel with the filesystem's assertions",
}  # what a finding needs beside the filesystem's defaults, one thread and a device without errors


class BadBugPage(Exception):
    """A page is missing or its front matter is wrong; the message names the file and what to mend."""


class BugPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The front matter of one page.

    id:        stable: it is never given to another bug. title: one line.
    oracles:   those that see it. workloads: of the library and then programs, the shortest first; empty if
               only generated ones show it.
    kernels:   releases on which it was seen, as "6.12". profiles: those that show it; empty means all of
               the filesystem.
    fix:       series under kernel/series/ that remove it; empty if there is none.
    needs:     what must be beside the filesystem's defaults, of NEEDS; empty means nothing.
    upstream:  one of UPSTREAM. "fixed": in a release or in the maintainers' tree. "reported": a report or a
               fix that was not taken is known. "not found": searched, see the page. "not searched".
    links:     of the report, the fix and related threads.
    """

    id: str
    title: str
    filesystem: str
    oracles: tuple[str, ...]
    workloads: tuple[str, ...]
    kernels: tuple[str, ...]
    upstream: str
    profiles: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


def pages_folder() -> Path:
    """The one place that knows where the pages are."""
    return ROOT / "docs" / "findings"


def bug_pages() -> tuple[BugPage, ...]:
    """All of them, by filesystem and number. Errors: BadBugPage."""
    folder = pages_folder()
    if not folder.is_dir():
        raise BadBugPage(
            f"{folder} does not exist. It contains the pages of the known bugs and is part of Powercut"
        )
    ids = (path.stem for path in folder.iterdir() if PAGE.fullmatch(path.name))
    return tuple(bug_page(one) for one in sorted(ids, key=_order))


def bug_texts() -> dict[str, str]:
    """The whole text of every page, by ID: a report shows it. Errors: BadBugPage."""
    return {one.id: (pages_folder() / f"{one.id}.md").read_text() for one in bug_pages()}


@functools.cache
def bug_page(bug_id: str) -> BugPage:
    """Errors: BadBugPage."""
    path = pages_folder() / f"{bug_id}.md"
    try:
        text = path.read_text()
    except OSError as error:
        raise BadBugPage(f"{path}: {error.strerror}. harness/evidence/known.py names {bug_id}") from error
    return page_of(path, text)


def page_of(path: Path, text: str) -> BugPage:
    """path: for messages, and its name is the ID. Errors: BadBugPage."""
    start, fence, _ = text.removeprefix(FENCE).partition(f"\n{FENCE}")
    if not text.startswith(FENCE) or not fence:
        raise BadBugPage(f"{path}: a page begins with YAML front matter between two lines ---")
    try:
        page = msgspec.yaml.decode(start, type=BugPage)
    except msgspec.MsgspecError as error:
        raise BadBugPage(f"{path}: the front matter is wrong: {error}") from error
    if page.id != path.stem:
        raise BadBugPage(f"{path}: the front matter has the ID {page.id}")
    if page.upstream not in UPSTREAM:
        raise BadBugPage(f"{path}: upstream is {page.upstream!r}, and must be one of {', '.join(UPSTREAM)}")
    if unknown := [one for one in page.needs if one not in NEEDS]:
        raise BadBugPage(f"{path}: needs has {', '.join(unknown)}, and must be one of {', '.join(NEEDS)}")
    return page


def known_as(bug_id: str) -> KnownAs:
    """Errors: BadBugPage."""
    page = bug_page(bug_id)
    return KnownAs(page.id, page.title, page.upstream)


def _order(bug_id: str) -> tuple[str, int]:
    filesystem, _, number = bug_id.partition("-")
    return filesystem, int(number)
