"""The page and the last lines of a search."""

import html
import re
from pathlib import Path

import pytest

from reports import formats
from reports.pages.html import write_report
from reports.results import read_summary
from reports.search.lines import search_lines
from reports.search.page import POINTS_MAX, charts, thinned
from reports.search.results import FILE, GUIDED, SAMPLED, First, Kept, Sample, SearchReport, read_search
from reports.tests.make_run import make_run


def sample(number: int) -> Sample:
    return Sample(15.0 * number, 40 * number, 900 * number, 9000 + number, 8000 + number, 100, 50, 2)


def report_of(mode: str = GUIDED, **changes: object) -> SearchReport:
    fields = {
        "number": 400,
        "seconds": 200.0,
        "states": 9000,
        "edge_count": 54_661,
        "samples": tuple(map(sample, range(1, 12))),
        "corpus": (
            Kept("search1-000039", 12, 40, {"recovered": 537, "roles": 2}, "Mutated from <x>. By: moved."),
            Kept("a-seed", 3, 9, {"recorded": 12}, "to begin with"),
        ),
        "minimized": 60,
        "confirmed": 20,
        "flaky": 4,
    }
    return SearchReport(mode, "6.12", "btrfs", ("gcov",), 1, 30, **(fields | changes))  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path)


def page_of(run: Path, report: SearchReport) -> str:
    (run / FILE).write_bytes(formats.encode(FILE, report))
    return (write_report(run) / "search.html").read_text()


def test_the_page_has_what_was_found_and_kept(run: Path) -> None:
    """A signature that the run has leads to its page; one that did not come again has none."""
    known = read_summary(run).findings[0]
    firsts = (
        First(known.signature, "search1-000039", 39, 23.4, "Random."),
        First("btrfs durable: gone again (file)", "search1-000050", 50, 30.0, "Random."),
    )
    page = page_of(run, report_of(first=firsts))
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    assert f'">{html.escape(known.signature, quote=False)}</a>' in page
    assert "btrfs durable: gone again (file)" in text
    assert "search1-000039" in text
    assert "Mutated from <x>. By: moved." in text
    assert page.count("<svg") == 2
    assert "54,661" in text


def test_other_pages_lead_to_it(run: Path) -> None:
    """Of a run that is no search none does."""
    assert "search.html" not in (write_report(run) / "index.html").read_text()
    assert read_search(run) is None
    page_of(run, report_of())
    assert 'href="search.html"' in (run / "report" / "index.html").read_text()


def test_a_sampled_search_has_no_edges(run: Path) -> None:
    """Nothing was counted."""
    page = page_of(run, report_of(SAMPLED, corpus=()))
    assert page.count("<svg") == 1
    assert "edges, recovery" not in page
    assert 'id="corpus"' not in page


def test_a_long_search_has_a_bounded_page() -> None:
    """The last sample is drawn."""
    many = tuple(map(sample, range(1, 5000)))
    few = thinned(many)
    assert len(few) <= POINTS_MAX + 1
    assert (few[0], few[-1]) == (many[0], many[-1])
    assert charts(report_of(), few[:1]) == []


def test_what_was_not_examined_is_told(run: Path) -> None:
    """On the page and in the last lines."""
    report = report_of(undone=2, reasons=("search1-000007: recording: guest lost",))
    assert "search1-000007: recording: guest lost" in page_of(run, report)
    lines = search_lines(report, read_summary(run), run, run / "report" / "index.html")
    assert any(line.startswith("unknown     2 workloads not examined") for line in lines)
    assert lines[0].startswith("searched    btrfs on 6.12, guided, seed 1: 400 workloads")
    assert any("20 of 24 with a little" in line for line in lines)


def test_new_findings_come_first(run: Path) -> None:
    """Each with its ID in the run."""
    summary = read_summary(run)
    lines = search_lines(report_of(), summary, run, run / "report" / "index.html")
    shown = [line for line in lines if line.startswith("  F")]
    assert len(shown) == len(summary.findings)
    news = ["NEW" in line for line in shown]
    assert news == sorted(news, reverse=True)
