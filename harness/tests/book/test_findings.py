"""FINDINGS.md is the table of the pages in docs/findings/, and each page begins with its own."""

from harness.book import hooks
from harness.book.findings import PAGE, counts, facts, generated, table
from harness.evidence.bugs import BugPage, bug_pages
from harness.local.root import ROOT

ONE, TWO = "fix/btrfs-no-log-is-not-the-first-log", "fix/ext4-failed-write-is-unwritten-again"


def page(number, filesystem="btrfs", upstream="fixed", fix=(), needs=()):
    name = f"{filesystem.upper()}-{number}"
    return BugPage(
        name, f"Title {number}", filesystem, ("durable",), ("a",), ("6.1", "6.12"), upstream, (), fix, needs
    )


def test_findings_md_and_the_tables_of_the_pages_are_up_to_date():
    """Else: .venv/bin/python -m harness.book"""
    made = generated(ROOT)
    assert len(made) == 1 + len(bug_pages())
    assert [path for path, text in made.items() if (ROOT / path).read_text() != text] == []


def test_every_page_has_its_row():
    text = (ROOT / PAGE).read_text()
    assert all(f"| [{one.id}](docs/findings/{one.id}.md) | {one.title} |" in text for one in bug_pages())


def test_a_row_has_kernels_needs_fixes_and_status():
    """A fix series is a link to its file, whatever kind of file it is."""
    rows = list(table(iter([page(1, needs=("threads",)), page(2, upstream="not found", fix=(ONE, TWO))])))
    assert rows[2] == (
        "| [BTRFS-1](docs/findings/BTRFS-1.md) | Title 1 | 6.1, 6.12 | threads | none | fixed |\n"
    )
    links = f"[`{ONE}`](kernel/series/{ONE}.cocci), [`{TWO}`](kernel/series/{TWO}.patch)"
    assert rows[3].endswith(f"| Title 2 | 6.1, 6.12 | default | {links} | no report found |\n")


def test_findings_are_counted_by_filesystem_and_status():
    pages = (page(1), page(2), page(1, "ext4", "not searched"), page(2, "ext4", "not found"))
    upstream = "Upstream: 2 fixed, 1 without a report that we found, 1 not searched."
    assert counts(pages) == f"4 findings: 2 of btrfs, 2 of ext4. {upstream}"


def test_a_page_begins_with_its_facts():
    lines = facts(page(1, fix=(ONE,))).splitlines()
    assert lines[:3] == ["| filesystem | btrfs |", "| --- | --- |", "| kernels | 6.1, 6.12 |"]
    assert "| profiles | of btrfs, see Versions |" in lines
    assert f"| fix series | [`{ONE}`](../../kernel/series/{ONE}.cocci) |" in lines
    assert "| needs | default |" in lines
    assert lines[-1] == "| upstream | fixed |"


def test_the_site_lists_findings_by_number_and_then_the_other_pages(tmp_path):
    (tmp_path / "findings").mkdir()
    for name in ("XFS-1", "BTRFS-10", "BTRFS-2", "index", "damage-at-rest"):
        (tmp_path / "findings" / f"{name}.md").touch()
    config = {"docs_dir": tmp_path, "nav": [{"Tutorial": "tutorial.md"}, {"Findings": []}]}
    assert hooks.on_config(config)["nav"][1]["Findings"] == [
        "findings/index.md",
        {"BTRFS-2": "findings/BTRFS-2.md"},
        {"BTRFS-10": "findings/BTRFS-10.md"},
        {"XFS-1": "findings/XFS-1.md"},
        "findings/damage-at-rest.md",
    ]
