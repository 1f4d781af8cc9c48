"""What the output of fstests' ./check means, and what becomes of a test whose guest was lost."""

import pytest

from harness.fstests.said import OUTPUT_LINES, REASON_COLUMNS, answer, failure, last_lines
from reports.fstests.results import DEADLINE, DIED, ENDED, FAIL, NO_START, NOTRUN, PANIC, PASS

HEAD = "FSTYP         -- btrfs\nPLATFORM      -- Linux/x86_64 powercut 6.12\n\n"
PASSED = f"{HEAD}generic/547        7s\nRan: generic/547\nPassed all 1 tests\n\n"
NOT_RUN = (
    f"{HEAD}generic/547       [not run] this test requires a valid $SCRATCH_DEV\n"
    "Ran: generic/547\nNot run: generic/547\nPassed all 1 tests\n\n"
)
MISMATCH = (
    f"{HEAD}generic/547       - output mismatch (see /mnt/results/generic/547.out.bad)\n"
    "    --- tests/generic/547.out\t2026-11-23\n    +++ /mnt/results/generic/547.out.bad\t2026-11-23\n"
    "    @@ -1,2 +1,3 @@\n     QA output created by 547\n    +file has 0 bytes\n"
    "     Silence is golden\n    ...\n"
    "Ran: generic/547\nFailures: generic/547\nFailed 1 of 1 tests\n\n"
)


def test_a_test_that_passed_has_no_reason() -> None:
    assert answer("generic/547", PASSED, "", True, ()) == (PASS, "", "")


def test_not_run_is_not_a_pass_though_check_prints_passed_all() -> None:
    said = answer("generic/547", NOT_RUN, "this test requires a valid $SCRATCH_DEV\n", True, ())
    assert said == (NOTRUN, "this test requires a valid $SCRATCH_DEV", "")


def test_not_run_is_seen_without_the_file_with_its_reason() -> None:
    assert answer("generic/547", NOT_RUN, "", True, ())[0] == NOTRUN


def test_a_failure_names_the_first_line_that_differs() -> None:
    result, reason, _ = answer("generic/547", MISMATCH, "", True, ())
    assert (result, reason) == (FAIL, "output mismatch; first line that differs: file has 0 bytes")


def test_a_failure_has_all_that_check_complains_about() -> None:
    said = (
        "generic/475 12s ... [failed, exit status 1]\n"
        "_check_dmesg: something found in dmesg (see /mnt/results/generic/475.dmesg)\n\nRan: generic/475\n"
        "Failures: generic/475\nFailed 1 of 1 tests\n"
    )
    assert failure("generic/475", said) == "[failed, exit status 1]; _check_dmesg: something found in dmesg"


def test_another_tests_name_decides_nothing() -> None:
    assert answer("generic/54", PASSED.replace("Passed all 1", "Passed all 0"), "", True, ())[0] == DIED


def test_check_that_did_not_reach_the_test_is_no_pass() -> None:
    said = (
        f"{HEAD}our local _scratch_mkfs routine\ncheck: failed to mkfs $SCRATCH_DEV using specified options\n"
    )
    assert answer("generic/547", said, "", True, ()) == (
        DIED,
        "./check did not run the test: check: failed to mkfs $SCRATCH_DEV using specified options",
        NO_START,
    )
    assert answer("generic/547", "", "", True, ())[2] == NO_START


@pytest.mark.parametrize(
    ("console", "death"),
    [
        (("[ 12.0] Kernel panic - not syncing: Fatal exception", "the guest ended"), PANIC),
        (("it did not end within 600 s",), DEADLINE),
        (("the guest ended",), ENDED),
        ((), ENDED),
    ],
)
def test_a_guest_that_was_lost_says_why(console: tuple[str, ...], death: str) -> None:
    result, reason, found = answer("generic/475", f"{HEAD}generic/475       ", "", False, console)
    assert (result, found) == (DIED, death)
    assert reason


def test_a_kernel_that_ended_counts_though_the_test_had_passed() -> None:
    assert answer("generic/547", PASSED, "", True, ("Kernel panic - not syncing: Oops",))[2] == PANIC


def test_a_reason_is_one_line_and_not_long() -> None:
    reason = answer("generic/547", NOT_RUN, "a\nb " + "c" * 500, True, ())[1]
    assert len(reason) == REASON_COLUMNS
    assert reason.startswith("a b ccc")


def test_output_is_kept_of_what_did_not_pass() -> None:
    assert last_lines(PASSED, (), PASS) == ()
    assert last_lines("x\n" * 100, (), FAIL) == ("x",) * OUTPUT_LINES
    assert last_lines("x\n" * 100, ("Kernel panic",), DIED)[-1] == "Kernel panic"
