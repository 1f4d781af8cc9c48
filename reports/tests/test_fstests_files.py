"""A run of fstests as JUnit, KTAP, lines and page: notrun is no pass, what was not reached an error."""

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from reports.ci.fstests import junit_xml, ktap, write_ci
from reports.fstests.lines import count_words, fstests_lines, headline, notrun_reasons
from reports.fstests.results import (
    DEADLINE,
    DIED,
    FAIL,
    KNOWN,
    NOTRUN,
    PANIC,
    PASS,
    FstestsAttempt,
    FstestsResult,
    FstestsRun,
    RecordedLife,
)
from reports.pages.fstests import write_fstests_page


def one(
    test: str, result: str, reason: str = "", death: str = "", filesystem: str = "btrfs"
) -> FstestsResult:
    attempt = FstestsAttempt(
        "6.12", result, reason, death, 2.5, ("said <it> \x1b # 1",) if result != PASS else ()
    )
    return FstestsResult(test, filesystem, result, reason, (attempt,))


RESULTS = (
    one("generic/001", PASS),
    one("generic/002", FAIL, "output mismatch # 3"),
    one("generic/003", NOTRUN, "no fio"),
    one("generic/004", KNOWN, "6.1 fails, too"),
    one("generic/005", DIED, "deadline", DEADLINE),
    one("generic/006", DIED, "the kernel ended", PANIC),
    one("generic/003", NOTRUN, "no fio", filesystem="xfs"),
)
RUN = FstestsRun(
    "6.12", "", {"6.12": "6.12.1"}, ("log",), ("btrfs", "xfs"), "abc", 600, "", len(RESULTS), RESULTS
)


def test_junit_counts_what_is_skipped_as_skipped() -> None:
    root = ElementTree.fromstring(junit_xml(RUN))
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "7",
        "failures": "2",
        "errors": "1",
        "skipped": "3",
    }
    kinds = {case.get("name"): [child.tag for child in case] for case in root[0].iter("testcase")}
    assert kinds["generic/001"] == []
    assert kinds["generic/003"] == kinds["generic/004"] == ["skipped"]
    assert kinds["generic/002"] == kinds["generic/006"] == ["failure"]
    assert kinds["generic/005"] == ["error"]


@pytest.mark.parametrize(
    "run",
    [
        msgspec.structs.replace(RUN, planned=9),
        msgspec.structs.replace(RUN, results=(RESULTS[2],), planned=1),
        msgspec.structs.replace(RUN, results=()),
    ],
)
def test_a_run_that_showed_nothing_is_an_error_in_both_forms(run: FstestsRun) -> None:
    root = ElementTree.fromstring(junit_xml(run))
    assert root.get("errors") != "0"
    assert "not ok" in ktap(run).splitlines()[-1]
    assert "# ERROR" in ktap(run)


def test_ktap_has_the_words_of_the_kernel() -> None:
    lines = [line.strip() for line in ktap(RUN).splitlines()]
    assert "ok 1 generic/001" in lines
    assert "not ok 2 generic/002" in lines
    assert "ok 3 generic/003 # SKIP no fio" in lines
    assert "ok 4 generic/004 # XFAIL 6.1 fails, too" in lines
    assert "not ok 5 generic/005 # TIMEOUT deadline" in lines
    assert "not ok 6 generic/006" in lines
    assert lines[-1] == "not ok 2 fstests on xfs # ERROR no test passed"


def test_every_line_of_ktap_is_one_of_its_forms() -> None:
    for line in ktap(RUN).splitlines():
        assert line.strip().startswith(("KTAP version 1", "1..", "ok ", "not ok ", "# ")), line


def test_the_last_lines_name_what_failed_and_why_tests_were_not_run() -> None:
    lines = "\n".join(fstests_lines(RUN, Path("results/x/report/index.html")))
    assert "generic/002 on btrfs: output mismatch" in lines
    assert "2 tests: no fio" in lines
    assert "exit status 1" in lines
    assert count_words(RUN.results[:2]) == "1 pass, 1 fail"
    assert notrun_reasons(RUN.results) == [("no fio", 2)]


def test_the_headline_is_the_worst() -> None:
    assert headline(RUN) == "2 tests failed"
    passed = msgspec.structs.replace(RUN, results=RESULTS[:1], planned=1)
    assert headline(passed) == "1 test passed"
    assert headline(msgspec.structs.replace(passed, planned=2)) == "1 test of 2 were not reached"


def test_the_page_shows_each_test_and_escapes_what_was_said(tmp_path: Path) -> None:
    page = write_fstests_page(tmp_path, RUN).read_text()
    for result in RESULTS:
        assert result.test in page
    assert "said &lt;it&gt;" in page
    assert "\x1b" not in page
    assert (tmp_path / "report" / "glossary.html").exists()


def test_both_files_are_written(tmp_path: Path) -> None:
    write_ci(tmp_path, RUN)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["junit.xml", "results.ktap"]


def recorded(life: RecordedLife) -> FstestsRun:
    attempt = FstestsAttempt("6.12", PASS, recorded=(life,))
    return msgspec.structs.replace(
        RUN, planned=2, results=(RESULTS[0], FstestsResult("generic/007", "btrfs", PASS, "", (attempt,)))
    )


def test_a_promise_that_is_broken_in_a_recorded_log_is_a_failure(tmp_path: Path) -> None:
    """Though the test itself passed: it looked at other moments."""
    life = RecordedLife(
        "a", "b", 40, 41, {"fsck": (40, 1, 0)}, ("btrfs fsck: reports errors",), 1, "records/x"
    )
    run = recorded(life)
    assert run.exit == 1
    assert next(ElementTree.fromstring(junit_xml(run)).iter("failure")).get("message") == (
        "40 entries, 41 states, 1 verdict BROKEN, 0 UNKNOWN"
    )
    assert "not ok 2 generic/007" in ktap(run)
    assert "BROKEN btrfs fsck: reports errors" in "\n".join(fstests_lines(run, Path("x")))
    page = write_fstests_page(tmp_path, run).read_text()
    assert 'href="../records/x/report/index.html"' in page


def test_a_log_that_could_not_be_examined_is_no_answer() -> None:
    run = recorded(RecordedLife("a", "b", 40, trouble="no filesystem"))
    assert run.exit == 3
    assert "not ok 2 generic/007 # ERROR" in ktap(run)
    assert recorded(RecordedLife("a", "b", 40, 41, {"fsck": (41, 0, 0)}, exit=0)).exit == 0
