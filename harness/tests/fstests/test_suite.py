"""Many tests of fstests: order, again, baseline, known failures. No guest: attempts are made up."""

from pathlib import Path

import msgspec
import pytest

from harness.fstests.suite import (
    TESTS_OF_A_GUEST,
    BadKnown,
    BadResume,
    FstestsWish,
    concluded,
    done_before,
    examine_all,
    keep,
    read_known,
    results,
)
from reports.fstests.results import (
    DEADLINE,
    DIED,
    ENDED,
    FAIL,
    KNOWN,
    NOTRUN,
    PANIC,
    PASS,
    FstestsAttempt,
    FstestsResult,
    FstestsRun,
    read_fstests,
)

WISH = FstestsWish(
    Path("/nowhere"), {"btrfs": ("generic/001", "generic/002"), "xfs": ("generic/001",)}, "6.12"
)
FAILED = FstestsAttempt("6.12", FAIL, "output mismatch")
PASSED = FstestsAttempt("6.12", PASS)


class Said:
    """Attempts in turn, by kernel; the last one again and again."""

    def __init__(self, **by_kernel: list[FstestsAttempt]) -> None:
        self.by_kernel = by_kernel
        self.asked: list[str] = []

    def __call__(self, word: str, tests: tuple[str, ...], filesystem: str) -> list[FstestsAttempt]:
        self.asked.append(word)
        left = self.by_kernel[word]
        return [left.pop(0) if len(left) > 1 else left[0]]


def one_of(said: Said, wish: FstestsWish = WISH) -> FstestsResult:
    (found,) = examine_all(wish, said, ("generic/001",), "btrfs")
    return found


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("reached", [1, 2, 8])
def test_results_have_their_places_in_the_plan(jobs: int, reached: int) -> None:
    """Whatever the number of guests at once, and however many tests each guest comes to."""
    guests = []

    def some(word: str, tests: tuple[str, ...], filesystem: str) -> list[FstestsAttempt]:
        guests.append(tests)
        return [FstestsAttempt(word, PASS, f"{test} {filesystem}") for test in tests[:reached]]

    many = tuple(f"generic/{number:03}" for number in range(TESTS_OF_A_GUEST + 3))
    wish = msgspec.structs.replace(WISH, tests={"btrfs": many, "xfs": ("generic/001",)}, jobs=jobs)
    found = dict(results(wish, some))
    assert [found[at].attempts[0].reason for at in sorted(found)] == [
        f"{test} {name}" for name, test in wish.planned
    ]
    assert max(map(len, guests)) == TESTS_OF_A_GUEST


def test_an_error_of_ours_ends_the_suite() -> None:
    def some(word: str, tests: tuple[str, ...], filesystem: str) -> list[FstestsAttempt]:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        list(results(WISH, some))


def test_a_test_that_failed_is_run_again_and_stays_failed() -> None:
    said = Said(**{"6.12": [FAILED, PASSED]})
    found = one_of(said)
    assert (found.result, found.reason) == (FAIL, "output mismatch (failed 1 of 2 times)")
    assert said.asked == ["6.12", "6.12"]


@pytest.mark.parametrize("first", [PASSED, FstestsAttempt("6.12", NOTRUN, "no fio")])
def test_nothing_else_is_run_again(first: FstestsAttempt) -> None:
    said = Said(**{"6.12": [first], "6.1": [PASSED]})
    found = one_of(said, msgspec.structs.replace(WISH, against="6.1"))
    assert (found.result, said.asked) == (first.result, ["6.12"])


def test_a_guest_that_ended_without_a_word_is_replaced() -> None:
    lost = FstestsAttempt("6.12", DIED, "the guest ended", ENDED)
    found = one_of(Said(**{"6.12": [lost, PASSED]}))
    assert (found.result, found.attempts) == (PASS, (PASSED,))
    assert one_of(Said(**{"6.12": [lost]})).is_unknown


def test_a_failure_that_the_baseline_has_is_known() -> None:
    wish = msgspec.structs.replace(WISH, against="6.1")
    said = Said(**{"6.12": [FAILED], "6.1": [FstestsAttempt("6.1", FAIL, "output mismatch")]})
    found = one_of(said, wish)
    assert (found.result, found.reason) == (
        KNOWN,
        "6.1 fails, too; output mismatch (failed 2 of 2 times)",
    )
    only_here = one_of(Said(**{"6.12": [FAILED], "6.1": [PASSED]}), wish)
    assert only_here.is_broken
    assert only_here.baseline == PASSED


def test_the_list_of_known_failures_is_by_test_and_filesystem(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text("# ours\ngeneric/475 btrfs aborts on EIO\n\ngeneric/019 * needs luck # really\n")
    known = read_known(path)
    assert known == {("generic/475", "btrfs"): "aborts on EIO", ("generic/019", "*"): "needs luck"}
    assert concluded("generic/475", "btrfs", (FAILED,), None, known).result == KNOWN
    assert concluded("generic/475", "xfs", (FAILED,), None, known).result == FAIL
    assert concluded("generic/019", "xfs", (FAILED,), None, known).result == KNOWN
    assert concluded("generic/019", "xfs", (PASSED,), None, known).result == PASS


def test_a_list_that_cannot_be_read_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text("generic/475 btrfs x\ngeneric/476\n")
    with pytest.raises(BadKnown, match="line 2"):
        read_known(path)
    with pytest.raises(BadKnown, match="nosuch"):
        read_known(tmp_path / "nosuch")


def run_of(*found: FstestsResult, planned: int = 0) -> FstestsRun:
    return FstestsRun("6.12", "", {}, (), ("btrfs",), "", 600, "", planned or len(found), found)


def result_of(result: str, death: str = "") -> FstestsResult:
    return FstestsResult("generic/001", "btrfs", result, "", (FstestsAttempt("6.12", result, "", death),))


@pytest.mark.parametrize(
    ("found", "exit_status"),
    [
        ((PASS, PASS), 0),
        ((PASS, NOTRUN), 0),
        ((PASS, KNOWN), 0),
        ((PASS, FAIL), 1),
        ((FAIL, NOTRUN), 1),
        ((NOTRUN, NOTRUN), 3),
        ((KNOWN, NOTRUN), 3),
        ((), 3),
    ],
)
def test_exit_status(found: tuple[str, ...], exit_status: int) -> None:
    """Nothing that ran is never 0."""
    assert run_of(*map(result_of, found)).exit == exit_status


def test_a_kernel_that_ended_is_a_failure_and_a_deadline_is_not() -> None:
    passed = result_of(PASS)
    assert run_of(passed, result_of(DIED, PANIC)).exit == 1
    assert run_of(passed, result_of(DIED, DEADLINE)).exit == 3


def test_a_run_that_is_not_whole_is_never_0() -> None:
    assert run_of(result_of(PASS), planned=2).exit == 3


def test_what_is_kept_is_what_is_read(tmp_path: Path) -> None:
    kept = run_of(concluded("generic/001", "btrfs", (FAILED,), PASSED, {}))
    keep(tmp_path, kept)
    assert read_fstests(tmp_path) == kept
    assert read_fstests(tmp_path / "other") is None


def test_a_run_goes_on_where_it_stopped() -> None:
    before = msgspec.structs.replace(run_of(result_of(FAIL)), planned=3)
    done = done_before(WISH, before)
    assert list(done) == [0]

    said = Said(**{"6.12": [PASSED]})
    assert [at for at, _ in results(WISH, said, frozenset(done))] == [1, 2]


@pytest.mark.parametrize(
    "change", [{"kernel": "6.1"}, {"deadline_s": 7.0}, {"tests": {"btrfs": ("generic/002",)}}]
)
def test_another_question_continues_nothing(change: dict) -> None:
    with pytest.raises(BadResume, match="--resume"):
        done_before(msgspec.structs.replace(WISH, **change), run_of(result_of(PASS), planned=3))
