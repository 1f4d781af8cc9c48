"""What the output of fstests' ./check means, and what becomes of a test whose guest was lost."""

import pytest

from harness.fstests.said import (
    HEARD_LINES,
    OUTPUT_LINES,
    REASON_COLUMNS,
    answer,
    failure,
    heard,
    last_lines,
    not_started,
    sections,
)
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


def judged(
    said: str, notrun: str = "", lost: str = "", console: tuple[str, ...] = ()
) -> tuple[str, str, str]:
    test = "generic/547"
    return answer(test, sections((test,), said).get(test, ""), notrun, lost, console)


def test_a_test_that_passed_has_no_reason() -> None:
    assert judged(PASSED) == (PASS, "", "")
    assert judged(PASSED.replace("        7s", " 12s ...  7s")) == (PASS, "", "")


def test_not_run_is_not_a_pass_though_check_prints_passed_all() -> None:
    reason = "this test requires a valid $SCRATCH_DEV"
    assert judged(NOT_RUN, f"{reason}\n") == judged(NOT_RUN) == (NOTRUN, reason, "")


def test_a_failure_names_the_first_line_that_differs() -> None:
    assert judged(MISMATCH) == (FAIL, "output mismatch; first line that differs: file has 0 bytes", "")


def test_a_line_of_a_diff_makes_no_pass() -> None:
    """What a test printed may look like the seconds that it took."""
    assert judged(MISMATCH.replace("file has 0 bytes", "took 7s"))[0] == FAIL


def test_a_failure_has_all_that_check_complains_about() -> None:
    section = (
        "generic/475 12s ... [failed, exit status 1]\n"
        "_check_dmesg: something found in dmesg (see /mnt/results/generic/475.dmesg)\n"
    )
    said = "[failed, exit status 1]; _check_dmesg: something found in dmesg"
    assert failure("generic/475", section) == said
    assert answer("generic/475", section, "", "", ()) == (FAIL, said, "")


def test_several_tests_are_told_apart_and_the_last_lines_belong_to_none() -> None:
    said = (
        f"{HEAD}generic/054        [not run] no logstate\n"
        "generic/547 7s ...  8s\n"
        "generic/552       - output mismatch (see x)\n    +a line\n"
        "Ran: generic/054 generic/547 generic/552\nNot run: generic/054\nFailures: generic/552\n"
    )
    found = sections(("generic/054", "generic/547", "generic/552", "generic/560"), said)
    assert list(found) == ["generic/054", "generic/547", "generic/552"]
    assert [answer(test, lines, "", "", ())[0] for test, lines in found.items()] == [NOTRUN, PASS, FAIL]
    assert "Failures" not in found["generic/552"]


def test_check_that_did_not_reach_the_test_is_no_pass() -> None:
    said = (
        f"{HEAD}our local _scratch_mkfs routine\ncheck: failed to mkfs $SCRATCH_DEV using specified options\n"
    )
    assert sections(("generic/547",), said) == {}
    assert not_started(said) == (
        DIED,
        "./check did not run the test: check: failed to mkfs $SCRATCH_DEV using specified options",
        NO_START,
    )
    assert not_started("")[2] == NO_START


@pytest.mark.parametrize(
    ("console", "death"),
    [
        (("[ 12.0] Kernel panic - not syncing: Fatal exception", "the guest ended"), PANIC),
        (("it did not end within 600 s",), DEADLINE),
        (("the guest ended",), ENDED),
    ],
)
def test_a_guest_that_was_lost_says_why(console: tuple[str, ...], death: str) -> None:
    result, reason, found = judged(f"{HEAD}generic/547       ", "", console[-1], console)
    assert (result, found) == (DIED, death)
    assert reason


def test_a_reason_is_one_line_and_not_long() -> None:
    reason = judged(NOT_RUN, "a\nb " + "c" * 500)[1]
    assert len(reason) == REASON_COLUMNS
    assert reason.startswith("a b ccc")


def test_output_is_kept_of_what_did_not_pass() -> None:
    assert last_lines(PASSED, (), PASS) == ()
    assert last_lines("x\n" * 100, (), FAIL) == ("x",) * OUTPUT_LINES
    assert last_lines("x\n" * 100, ("Kernel panic",), DIED)[-1] == "Kernel panic"


def test_what_the_kernel_said_is_kept_of_a_test_that_failed_by_it() -> None:
    """As xfs/181 on a debug kernel: fstests names a file, which is gone with the guest."""
    dmesg = "\n".join(
        [*["[    1.0] quiet"] * 9, "[   12.345678] XFS: Assertion failed: x", "[   12.4] WARNING: y"]
    )
    line, around = heard(dmesg + "\n[ 12.5] Call Trace:\n" * 20)
    assert line == "WARNING: y"
    assert around[:4] == ("quiet", "quiet", "XFS: Assertion failed: x", "WARNING: y")
    assert len(around) == HEARD_LINES
    assert heard("[ 1.0] XFS (dm-0): Mounting V5 Filesystem") == ("", ())
