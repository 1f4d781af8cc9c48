"""The page of fstests' tests: what is counted, and that nothing stands without its reason."""

from pathlib import Path

import pytest

from harness.book import fstests
from harness.book.fstests import Measured, Outcome, RecordedTest, Suite
from harness.evidence.store import write_whole
from harness.local.root import ROOT
from reports import formats
from reports.fstests.results import FILE, FstestsAttempt, FstestsResult, FstestsRun, RecordedLife

SUITE = Suite(
    "6.12",
    "6.12.1",
    "ext4",
    ("generic/001", "generic/002", "generic/003", "generic/004", "generic/005"),
    {
        "generic/001": Outcome("pass"),
        "generic/002": Outcome("notrun", "no reflink"),
        "generic/003": Outcome("fail", "output mismatch"),
        "generic/004": Outcome("died", "deadline", deadline_s=300),
    },
)


def a_run(folder: Path, *results: FstestsResult, kernel: str = "6.12") -> Path:
    folder.mkdir()
    run = FstestsRun(
        kernel, "", {kernel: "6.12.1"}, (), ("ext4",), "abc", 300.0, "2026-01-01T00:00:00Z", 2, results
    )
    write_whole(folder / FILE, formats.encode(FILE, run))
    return folder


def test_what_was_not_reached_is_counted_and_named() -> None:
    found = Measured("abc", (SUITE,), ())
    assert "| 6.12 | ext4 | 5 | 3 | 1 | 1 | 1 | 1 | 1 |" in fstests.counts(found)
    assert "| 6.12 | ext4 | generic/005 |" in fstests.not_reached(found)
    assert "| no reflink | ext4 6.12: 1 | generic/002 |" in fstests.notrun(found)


def test_a_reason_may_be_of_a_test_on_every_filesystem_and_kernel() -> None:
    reasons = {"generic/003 * *": "all", "generic/003 xfs *": "xfs", "generic/003 xfs 7.2": "one"}
    assert [fstests.why(reasons, "generic/003", *where) for where in (("ext4", "6.12"), ("xfs", "6.12"))] == [
        "all",
        "xfs",
    ]
    assert fstests.why(reasons, "generic/003", "xfs", "7.2") == "one"
    assert fstests.why(reasons, "generic/004", "xfs", "7.2") == ""
    assert "| all |" in fstests.failed(Measured("abc", (SUITE,), ()), reasons)


def test_the_last_run_of_a_test_counts_and_recorded_ones_are_apart(tmp_path: Path) -> None:
    first = a_run(
        tmp_path / "first",
        FstestsResult("generic/475", "ext4", "died", "deadline", (FstestsAttempt("6.12", "died"),)),
        FstestsResult("generic/547", "ext4", "pass", "", (FstestsAttempt("6.12", "pass", seconds=3.2),)),
    )
    second = a_run(tmp_path / "second", FstestsResult("generic/475", "ext4", "pass"))
    lives = (
        RecordedLife("a", "b", 5, 6, {"mounts": (6, 0, 0), "fsck": (5, 1, 0)}, ("lost",)),
        RecordedLife("c", "", 4, trouble="cut"),
    )
    one = FstestsAttempt("6.12", "pass", recorded=lives)
    third = a_run(tmp_path / "third", FstestsResult("generic/475", "ext4", "pass", "", (one,)))
    found = fstests.collected({"ext4": ("generic/475", "generic/547")}, [first, second, third])
    (suite,) = found.suites
    assert {test: each.result for test, each in suite.outcomes.items()} == {
        "generic/475": "pass",
        "generic/547": "pass",
    }
    assert found.recorded == (
        RecordedTest("generic/475", "ext4", "6.12", "pass", 9, 6, (11, 1, 0), ("lost",), ("cut",)),
    )
    assert "| generic/475 | ext4 | pass | 9 | 6 | 11 | 1 | 0 | lost; cut |" in fstests.recorded(found)


@pytest.mark.parametrize("suite", fstests.read_measured(ROOT).suites, ids=lambda one: one.kernel)
def test_everything_that_failed_or_died_says_why(suite: Suite) -> None:
    """In harness/book/fstests.toml."""
    reasons = fstests.read_reasons(ROOT)
    bad = [test for test, one in suite.outcomes.items() if one.result in ("fail", "known", "died")]
    assert [test for test in bad if not fstests.why(reasons, test, suite.filesystem, suite.kernel)] == []


def test_each_written_reason_is_of_a_test_that_failed_or_died() -> None:
    failed = {
        key
        for suite in fstests.read_measured(ROOT).suites
        for test, one in suite.outcomes.items()
        if one.result in ("fail", "known", "died")
        for key in (
            f"{test} {suite.filesystem} {suite.kernel}",
            f"{test} {suite.filesystem} *",
            f"{test} * *",
        )
    }
    assert fstests.read_reasons(ROOT).keys() <= failed
