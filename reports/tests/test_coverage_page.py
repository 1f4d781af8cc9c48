"""The page of coverage, its words, and what a summary says of a series that never ran."""

import html
import re
from pathlib import Path

import pytest

from reports.coverage.lines import by_folder, percent, total
from reports.coverage.results import RECORDED, RECOVERED, patch_ran, read_coverage
from reports.pages.html import write_report
from reports.results import PatchRan, read_question
from reports.terminal.terminal import summary_lines
from reports.tests.make_coverage import FILES, LINES, kernel, line, make_coverage
from reports.tests.make_run import change_summary, make_run
from reports.text.coverage import patch_lines, patch_words

NEVER = (line("+", 11, "\tret = first(inode);"), line("+", 12, "\treturn ret;"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_run(tmp_path_factory.mktemp("results"))
    report = make_coverage(made)
    ran = patch_ran(report.kernels[0])
    assert ran is not None
    change_summary(made, patches=(ran,))
    write_report(made)
    return made


def test_only_lines_that_are_code_are_counted() -> None:
    """A comment, a line beside the series, a file that is not counted: no answer is missing there."""
    ran = patch_ran(kernel("6.12+mine", LINES))
    assert ran == PatchRan(
        "6.12+mine",
        4,
        {"any": 3, RECORDED: 2, RECOVERED: 2},
        ("fs/btrfs/tree-log.c:13 (log_it)",),
    )
    assert patch_ran(kernel("6.12", ())) is None


def test_the_words_of_a_series() -> None:
    ran = patch_ran(kernel("6.12+mine", LINES))
    assert ran is not None
    assert patch_words(ran) == "3 of 4 lines of the series ran: 2 recorded, 2 recovered"
    assert patch_lines(ran)[1] == "never: fs/btrfs/tree-log.c:13 (log_it)"


def test_a_series_that_never_ran_says_so() -> None:
    ran = patch_ran(kernel("6.12+mine", NEVER))
    assert ran is not None
    assert patch_lines(ran)[:2] == [
        "6.12+mine: none of the 2 lines of the series ran",
        "the verdicts say nothing about the series: no line of it was executed",
    ]


def test_a_series_without_code_is_unreached() -> None:
    """As one that changes a comment: nothing of it can run."""
    ran = patch_ran(kernel("6.12+mine", (line("+", 3, "\t/* why */", counted=False),)))
    assert ran is not None
    assert ran.unreached
    assert patch_words(ran) == "no line of the series is code that this kernel counts"


def test_the_last_lines_of_a_run_have_it(run: Path) -> None:
    """And its exit status is explained by it where nothing else went wrong."""
    summary = change_summary(run, patches=(PatchRan("6.12+mine", 2, {"any": 0, RECORDED: 0}),))
    question = read_question(run)
    text = "\n".join(summary_lines(summary, question, run / "report/index.html"))
    assert "coverage   6.12+mine: none of the 2 lines of the series ran" in text
    ran = patch_ran(kernel("6.12+mine", LINES))
    assert ran is not None
    change_summary(run, patches=(ran,))


def test_the_page_shows_the_series_line_by_line(run: Path) -> None:
    page = (run / "report/coverage.html").read_text()
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert "6.12+mine: 3 of 4 lines of the series ran" in text
    assert page.count('<tr class="never">') == 1
    assert page.count('<tr class="ran">') == 3
    assert page.count('<tr class="ctx">') == 3
    assert page.count('<tr class="gap">') == 1
    assert "/* <b> */" in text
    assert "<b>" not in page
    assert "Not counted: no." in text
    assert "never_called" in text
    assert "workload-2" in text
    assert "and 7 more" in text


def test_the_index_leads_to_the_page(run: Path) -> None:
    page = (run / "report/index.html").read_text()
    assert 'href="coverage.html"' in page
    assert "3 of 4 lines of the series ran" in page


def test_a_run_without_coverage_has_no_page(tmp_path: Path) -> None:
    made = make_run(tmp_path)
    write_report(made)
    assert read_coverage(made) is None
    assert "coverage.html" not in (made / "report/index.html").read_text()


def test_files_of_a_folder_are_summed() -> None:
    (folder,) = by_folder(FILES)
    whole = total(FILES, folder)
    assert (whole.file, whole.lines, whole.ran["lines"][RECORDED]) == ("fs/btrfs", 1000, 600)
    assert percent(0, 0) == "-"
