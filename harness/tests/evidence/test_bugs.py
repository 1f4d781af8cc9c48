"""The pages of known bugs: their front matter, and that it agrees with known.py and with what exists."""

import pytest

from harness.evidence import bugs
from harness.evidence.bugs import BadBugPage, BugPage, bug_page, bug_pages, known_as, page_of, pages_folder
from harness.evidence.known import EVERYWHERE, FIXES, KNOWN
from kernel.build import series
from oracles.judge import EVERY_ORACLE
from oracles.profiles import PROFILES, profile
from reports.headings import HEADINGS, SHARED
from workloads.library import names
from workloads.programs import library

PAGES = bug_pages()
SECTIONS = (
    "Workload",
    "Expected",
    "Found",
    "Mechanism",
    "Versions",
    "Fix",
    "Reproducers",
    "How it was checked",
    "Status upstream",
    "Searches",
)
GOOD = """---
id: BTRFS-1
title: A title
filesystem: btrfs
oracles: [durable]
workloads: [fsync-new-file]
kernels: ["6.12"]
upstream: not found
---

# BTRFS-1: A title
"""


def test_each_known_bug_has_a_page_and_each_page_a_known_bug():
    assert {one.id for one in PAGES} == {known.id for known in KNOWN}
    assert {*HEADINGS.values(), *SHARED.values()} <= {one.id for one in PAGES}  # older runs name them


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_a_page_agrees_with_known(page: BugPage):
    """It may name more: what was seen outside the library, or on a kernel that the suite does not ask."""
    known = [one for one in KNOWN if one.id == page.id]
    assert {one.filesystem for one in known} == {page.filesystem}
    assert {kernel.partition("+")[0] for one in known for kernel in one.kernels} <= {*page.kernels}
    assert {one.workload for one in known} - {EVERYWHERE} <= {*page.workloads}
    assert all(one.profiles for one in known) or not page.profiles
    assert {name for one in known for name in one.profiles} <= {*page.profiles} or not page.profiles
    assert {signature.partition(":")[0] for one in known for signature in one.signatures} <= {*page.oracles}
    assert {fix.series for fix in FIXES if page.id in fix.ids} <= {*page.fix}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_what_a_page_names_exists(page: BugPage):
    assert {*page.workloads} <= {*names(), *(one.name for one in library())}
    assert all(profile(name).filesystem == page.filesystem for name in page.profiles)
    assert page.filesystem in {one.filesystem for one in PROFILES}
    assert {*page.oracles} <= {one.NAME for one in EVERY_ORACLE}
    assert {*page.fix} <= {one.name for one in series()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_a_page_needs_what_its_commands_and_profiles_say(page: BugPage):
    """The page's first command of a run, and its profiles; threads and eviction are judged by hand."""
    text = (pages_folder() / f"{page.id}.md").read_text().partition("\n## Reproducers\n")[2]
    first = next(line for line in text.splitlines() if line.startswith("./powercut run "))
    always = {*page.profiles} or {"default"}
    assert ("fast_commit" in page.needs) is all("fast-commit" in one for one in always)
    assert ("inline_data" in page.needs) is all("inline" in one for one in always)
    assert ("fsync_mode=strict" in page.needs) is (page.profiles == ("f2fs-strict",))
    assert ("overlayfs" in page.needs) is all("overlay" in one for one in always)
    assert ("failing device" in page.needs) is ("--faults" in first)
    assert ("debug kernel" in page.needs) is ("--config" in first)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_a_page_has_its_sections_in_order(page: BugPage):
    """Its heading is the ID and the title, and each workload of the front matter stands in its text."""
    text = (pages_folder() / f"{page.id}.md").read_text().partition("\n---\n")[2]
    assert text.startswith(f"\n# {page.id}: {page.title}\n")
    sections = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert tuple(sections) == SECTIONS
    assert all(f"`{name}`" in text for name in page.workloads)
    assert all(f"`{name}`" in text for name in page.fix)
    assert all(link in text for link in page.links)


def test_a_page_becomes_what_a_summary_keeps():
    page = page_of(pages_folder() / "BTRFS-1.md", GOOD)
    assert (page.title, page.upstream, page.profiles, page.fix) == ("A title", "not found", (), ())
    kept = known_as("BTRFS-1")
    assert (kept.id, kept.title, kept.page) == (
        "BTRFS-1",
        bug_page("BTRFS-1").title,
        "docs/findings/BTRFS-1.md",
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("---\nid", "id", "begins with YAML front matter"),
        ("\n---\n", "\n", "begins with YAML front matter"),
        ("title: A title\n", "", "missing required field `title`"),
        ("title:", "name: a\ntitle:", "unknown field `name`"),
        ("[durable]", "durable", "Expected `array`"),
        ("[durable]", "[durable", "the front matter is wrong"),
        ("id: BTRFS-1", "id: BTRFS-2", "has the ID BTRFS-2"),
        ("not found", "lost", "upstream is 'lost', and must be one of fixed, reported"),
        ("upstream:", "needs: [luck]\nupstream:", "needs has luck, and must be one of fast_commit"),
    ],
)
def test_wrong_front_matter_is_refused_with_the_file(old, new, said):
    path = pages_folder() / "BTRFS-1.md"
    assert GOOD.count(old) == 1
    with pytest.raises(BadBugPage, match=f"BTRFS-1.md: .*{said}"):
        page_of(path, GOOD.replace(old, new))


def test_a_missing_page_or_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(bugs, "pages_folder", lambda: tmp_path / "none")
    bug_page.cache_clear()
    with pytest.raises(BadBugPage, match=r"none does not exist"):
        bug_pages()
    with pytest.raises(
        BadBugPage, match=r"none/XFS-1.md: No such file or directory\. .*known.py names XFS-1"
    ):
        bug_page("XFS-1")
