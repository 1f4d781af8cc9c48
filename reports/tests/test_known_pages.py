"""Known bugs in a report: each finding leads to the page of its bug, which is in the report."""

import re
from pathlib import Path

import msgspec
import pytest

from reports.pages.html import write_report
from reports.pages.known import markup
from reports.results import KnownAs, read_summary
from reports.tests.make_run import change_summary, make_run
from reports.tests.test_html import Page, text_of

PAGE = """\
---
id: BTRFS-2
title: A bug
---

# BTRFS-2: A bug

## Mechanism

`fsync()` returns early. See [the first](BTRFS-1.md), [another](BTRFS-9.md) and [the list](https://lore.example/m).

<!-- commands: long: it takes hours -->
```sh
./powercut run a --fs btrfs
```

<script>alert(1)</script> ![picture](x.png)

| kernel | result |
| --- | --- |
| 6.12 | yes |
"""
FIRST = KnownAs("BTRFS-1", "Another bug", "not found")
SECOND = KnownAs("BTRFS-2", "A bug", "fixed")
TENTH = KnownAs("BTRFS-10", "The tenth bug")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("results"))
    first, second = read_summary(run).findings
    first = msgspec.structs.replace(first, known=(TENTH, SECOND))
    second = msgspec.structs.replace(second, known=(SECOND, FIRST))
    change_summary(run, findings=(first, second))
    return write_report(run, bug_texts={"BTRFS-2": PAGE})


def test_every_known_bug_has_one_section_in_order(report: Path) -> None:
    """By number, not by letters; with the findings of this run, and with its status upstream."""
    text = (report / "known.html").read_text()
    assert re.findall(r'<h2 id="([^"]+)"', text) == ["BTRFS-1", "BTRFS-2", "BTRFS-10"]
    said = text_of(report / "known.html")
    assert "BTRFS-1: Another bug status upstream no report found in this run F2 btrfs mounts" in said
    assert "BTRFS-2: A bug status upstream fixed in this run F1 btrfs durable" in said


def test_a_finding_leads_to_its_bugs(report: Path) -> None:
    """On the index and on its own page, with title and status; every page has the way to all."""
    for name in ("index.html", "finding-F1.html"):
        assert {"known.html#BTRFS-2", "known.html#BTRFS-10"} <= set(Page(report / name).links), name
        assert "BTRFS-2 , A bug (upstream: fixed)" in text_of(report / name)
    assert all(
        'href="known.html"' in page.read_text() for page in report.iterdir() if page.name != "known.html"
    )


def test_a_run_without_known_bugs_has_no_such_page(tmp_path: Path) -> None:
    report = write_report(make_run(tmp_path))
    assert not (report / "known.html").exists()
    assert not any("known.html" in page.read_text() for page in report.iterdir())


def test_links_lead_within_the_report_or_to_the_web(report: Path) -> None:
    """A page that is not in the report is words only: its file is not there."""
    page = Page(report / "known.html")
    assert {link for link in page.links if link.startswith(("#BTRFS", "http"))} == {
        "#BTRFS-1", "#BTRFS-2", "#BTRFS-10", "https://lore.example/m"
    }  # fmt: skip
    assert not any(link.endswith(".md") for link in page.links)
    assert "another and the list" in text_of(report / "known.html")
    assert all(each.startswith(("#", "data:")) for each in page.resources)


def test_the_text_is_that_of_the_page() -> None:
    """Headings below the section's; no front matter, no mark of commands; markup in it stays text."""
    made = str(markup(PAGE, ("BTRFS-1",)))
    assert made.startswith("<h3>Mechanism</h3>")
    assert "<pre><code" in made
    assert "<td>yes</td>" in made
    assert "commands: long" not in made
    assert "title:" not in made
    assert "&lt;script&gt;" in made
    assert "<img" not in made
    assert markup("", ()) == ""
