"""A sweep of planted bugs: its matrix, its last lines, its files for CI."""

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from reports.ci.junit import write_junit
from reports.ci.ktap import write_ktap
from reports.pages.html import write_report
from reports.results import Detection, KnownAs, OracleSight, Silence, Summary, read_question, read_summary
from reports.terminal.terminal import COLUMNS, summary_lines
from reports.tests.make_run import change_summary, make_run
from reports.tests.test_html import Page, text_of

SEEN = Detection(
    planted="planted/lost-name",
    found=True,
    oracle="durable",
    workload="replace-by-rename",
    state="O:22",
    seconds=1.5,
    kernel="6.12+planted/lost-name",
    profiles=("btrfs",),
    swept_seconds=9.0,
    by_oracle=(
        OracleSight("durable", 2, 1, "replace-by-rename", "O:22", 1, "F2"),
        OracleSight("fsck", 7, 3, "link-new-name", "O:3", 2, ""),
    ),
)
MISSED = Detection("planted/unseen", False, "", "", "", 4.0, kernel="6.12+planted/unseen")
OLD_BUG = KnownAs("EXT4-1", "A bug of long standing, with a title that is longer than one line", "not found")
KNOWN = Silence("6.12", "btrfs", 3, 53, known=("F1",))
FALSE = Silence("6.12", "ext4", 3, 53, false=("F1",))


def sweep(run: Path, status: int, detection: tuple[Detection, ...], stock: tuple[Silence, ...]) -> Summary:
    known = tuple(
        msgspec.structs.replace(finding, known=(OLD_BUG,) if finding.id == "F1" else ())
        for finding in read_summary(make_run(run)).findings
    )
    return change_summary(run, exit=status, detection=detection, stock=stock, findings=known, reasons=())


@pytest.fixture
def good(tmp_path: Path) -> Path:
    sweep(tmp_path, 0, (SEEN,), (KNOWN,))
    return tmp_path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    sweep(tmp_path, 1, (SEEN, MISSED), (KNOWN, FALSE))
    return tmp_path


def test_the_matrix_links_each_cell_to_its_finding(bad: Path) -> None:
    """First who saw it, then who saw it too; a missed bug; known and false on the stock kernel."""
    index = write_report(bad) / "index.html"
    text, told = index.read_text(), text_of(index)
    assert '<a class="m first" href="finding-F2.html" title="durable: 2 states of 1 workload' in text
    assert (
        '<span class="m also" role="img" title="fsck: 7 states of 3 workloads, first link-new-name O:3">3<'
        in text
    )
    assert "not found" in told
    assert 'class="m known" href="finding-F1.html"' in text
    assert 'class="m false" href="finding-F1.html"' in text
    assert "1 of 2 planted bugs found; 1 false finding on the stock kernel." in told
    assert "Exit status 1: a planted bug was not found" in told


def test_experiments_that_hold_have_no_page_in_a_sweep(good: Path) -> None:
    """Nor a link; how many they are is told."""
    report = write_report(good)
    pages = {path.name for path in report.iterdir()}
    assert 0 < sum(name.startswith("experiment-") for name in pages) < 6
    for path in report.iterdir():
        for link in Page(path).links:
            assert (link.partition("#")[0] or path.name) in pages, f"{path.name}: {link}"
    assert "of this sweep in which every verdict HOLDS" in text_of(report / "index.html")


def test_the_last_lines_of_a_sweep(good: Path) -> None:
    """What was found and what the stock kernel gave, not every finding."""
    lines = summary_lines(read_summary(good), read_question(good), good / "index.html")
    assert "planted    1 of 1 bug found" in lines
    assert "stock      6.12 on btrfs, 53 states: no false BROKEN; known: F1" in lines
    assert lines[-1].startswith("exit       0: every planted bug was found")
    assert not any(line.startswith(("BROKEN", "HOLDS")) for line in lines)


def test_the_last_lines_say_why_a_sweep_failed(bad: Path) -> None:
    lines = summary_lines(read_summary(bad), read_question(bad), Path("index.html"))
    assert "planted    1 of 2 bugs found; missed: planted/unseen" in lines
    assert any("6.12 on ext4, 53 states: false BROKEN: F1" in line for line in lines)
    assert lines[-1] == (
        "exit       1: a planted bug was not found and the stock kernel has a finding that is not known"
    )
    assert all(len(line) <= COLUMNS for line in lines)


def test_a_known_finding_of_an_ordinary_run_names_the_bug_and_its_page(good: Path) -> None:
    """It is BROKEN all the same."""
    summary = msgspec.structs.replace(read_summary(good), exit=1, detection=(), stock=())
    lines = summary_lines(summary, read_question(good), Path("index.html"))
    at = lines.index(
        "              known: EXT4-1 (docs/findings/EXT4-1.md): A bug of long standing, with a title that is"
    )
    assert lines[at + 1] == "              longer than one line; upstream: no report found"
    assert lines[-1] == "exit       1: something is BROKEN"


def test_ci_is_told_of_bugs_and_not_of_broken_experiments(good: Path) -> None:
    root = ElementTree.parse(write_junit(good)).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "0", "0")
    assert "not ok" not in write_ktap(good).read_text()


def test_ci_is_told_of_a_missed_bug_and_a_false_finding(bad: Path) -> None:
    root = ElementTree.parse(write_junit(bad)).getroot()
    failed = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert failed == ["planted/unseen", "6.12 on ext4 has only known findings"]
    assert "not ok 2 planted/unseen" in write_ktap(bad).read_text()


def test_a_sweep_with_unknown_is_never_a_pass_for_ci(tmp_path: Path) -> None:
    sweep(tmp_path, 3, (SEEN,), (KNOWN,))
    assert ElementTree.parse(write_junit(tmp_path)).getroot().get("errors") == "1"
    assert "# ERROR" in write_ktap(tmp_path).read_text()
