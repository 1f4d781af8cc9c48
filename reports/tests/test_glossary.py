"""The glossary of a report: every mark is one that the programs understand, every term of theirs is in it."""

from pathlib import Path

import pytest

from oracles.spec import MODELS, disk_words, is_live, operation_of, parse
from oracles.verdict import Answer, Tier
from reports.pages.html import write_perf_page, write_report
from reports.tests.make_perf import make_perf
from reports.tests.make_run import make_run
from reports.tests.test_html import TEXTS, text_of
from reports.text import glossary
from workloads.faults import KINDS, parse_point
from workloads.text import parse as parse_workload

WORKLOAD = "setup\n  mkdir A\nrun\n  fault error-writes\n  creat A/foo\n  fsync A/foo\n  fault off\n"


def test_every_state_is_a_spec_and_every_form_is_there() -> None:
    """Each is parsed, and comes out as it went in; all models and both damages are among them."""
    assert [parse(spec).spec for spec in glossary.STATES] == list(glossary.STATES)
    assert {parse(spec).model for spec in glossary.STATES} == {*MODELS, "D"}
    assert len({disk_words(spec) for spec in glossary.STATES}) == len(glossary.STATES)


def test_every_fault_point_is_one_and_every_kind_is_there() -> None:
    workload = parse_workload(WORKLOAD)
    points = [parse_point(term.example, workload) for term in glossary.FAULTS]
    assert [point.spec for point in points] == [term.example for term in glossary.FAULTS]
    assert {point.kind for point in points} == {*KINDS, "script"}


def test_the_mark_of_a_recording_is_one() -> None:
    assert is_live(glossary.LIVE.example)
    assert f"operation {operation_of(glossary.LIVE.example)} " in glossary.LIVE.meaning


def test_no_answer_and_no_tier_is_left_out() -> None:
    assert {*Answer} <= {term.name for term in glossary.ANSWERS}
    assert set(glossary.TIER_WORDS) == set(Tier)


def test_a_word_is_explained_once() -> None:
    names = [term.name for term in glossary.WORDS]
    assert len(names) == len(set(names))
    assert all(term.meaning.endswith(".") for term in (*glossary.WORDS, *glossary.marks(), *glossary.IDS))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(make_run(tmp_path_factory.mktemp("results")), TEXTS)


def test_it_is_one_click_away_on_every_page(report: Path) -> None:
    for page in report.iterdir():
        assert page.name == "glossary.html" or 'href="glossary.html"' in page.read_text(), page.name


def test_it_says_what_the_oracles_check(report: Path) -> None:
    said = text_of(report / "glossary.html")
    for name, (checks, leaves_out) in TEXTS.items():
        assert f"{name} {checks} {leaves_out}" in said


def test_a_run_that_only_measured_has_one_too(tmp_path: Path) -> None:
    """Without a link to an index, which such a run does not have."""
    report = write_perf_page(tmp_path, make_perf())
    assert sorted(page.name for page in report.iterdir()) == ["glossary.html", "perf.html"]
    assert not any("index.html" in page.read_text() for page in report.iterdir())
